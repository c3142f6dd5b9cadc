// A shop with nothing in it but its administrator.
const { bootstrap, DefaultLogger, dummyPaymentHandler, LogLevel } = require('@vendure/core');
const { AdminUiPlugin } = require('@vendure/admin-ui-plugin');

const port = Number(process.env.PORT);

bootstrap({
  apiOptions: { port, hostname: '127.0.0.1', adminApiPath: 'admin-api', shopApiPath: 'shop-api' },
  logger: new DefaultLogger({ level: LogLevel.Warn }),
  authOptions: {
    tokenMethod: ['cookie', 'bearer'],
    superadminCredentials: { identifier: 'admin', password: process.env.PASSWORD },
    cookieOptions: { secret: 'of-a-test' },
  },
  dbConnectionOptions: {
    type: 'sqljs', location: `${process.env.STATE_DIR}/vendure.sqlite`, autoSave: true, synchronize: true,
  },
  paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
  plugins: [AdminUiPlugin.init({ route: 'admin', port })],
}).catch((error) => {
  console.error(error);
  process.exit(1);
});
