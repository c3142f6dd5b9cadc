#!/bin/bash
# DokuWiki (Debian) on PHP's own server: one large text area, page locks and drafts; flat files.
. "$(dirname "$0")/../lib.sh"
running_already '/doku.php?id=ward:icu'
apt_install php-cli php-xml php-mbstring dokuwiki
SITE="$STATE/www"

copy() {
  rm -rf "$SITE"
  mkdir -p "$SITE"
  # Debian spreads DokuWiki over three folders and joins them by links.
  cp -rL /usr/share/dokuwiki/. "$SITE/" 2>>"$INSTALL_LOG" || true
  mkdir -p "$SITE"/{conf,lib/plugins,lib/tpl} "$SITE"/data/{pages/ward,attic,cache,index,locks,media,media_attic,media_meta,meta,tmp,log}
  cp -rL /etc/dokuwiki/. "$SITE/conf/" 2>>"$INSTALL_LOG" || true
  [ ! -d /var/lib/dokuwiki/data ] || cp -rn /var/lib/dokuwiki/data/. "$SITE/data/"
  [ ! -d /var/lib/dokuwiki/lib ] || cp -rLn /var/lib/dokuwiki/lib/. "$SITE/lib/" 2>>"$INSTALL_LOG" || true
  rm -f "$SITE"/conf/{local.php,users.auth.php,acl.auth.php,local.protected.php}
}

fill() {
  copy
  echo "<?php define('DOKU_CONF', '$SITE/conf/');" >"$SITE/inc/preload.php"
  cat >"$SITE/conf/local.php" <<PHP
<?php
\$conf['title'] = 'Ward wiki';
\$conf['useacl'] = 1;
\$conf['superuser'] = '@admin';
\$conf['savedir'] = '$SITE/data';
\$conf['updatecheck'] = 0;
\$conf['usedraft'] = 1;
\$conf['authtype'] = 'authplain';
\$conf['disableactions'] = 'register';
\$conf['dmode'] = 0755;
PHP
  echo "$ADMIN:$(php -r 'echo password_hash($argv[1], PASSWORD_BCRYPT);' "$PASSWORD"):Admin:$EMAIL:admin,user" >"$SITE/conf/users.auth.php"
  printf '*\t@ALL\t1\n*\t@user\t8\n' >"$SITE/conf/acl.auth.php"
  for page in icu cardio; do
    printf '====== Ward %s ======\nFirst text.\n\n===== Beds =====\n12\n' $page >"$SITE/data/pages/ward/$page.txt"
  done
}

first_time fill
cd "$SITE"
PHP_CLI_SERVER_WORKERS=4 launch php -S "127.0.0.1:$PORT" -t "$SITE"
ready '/doku.php?id=ward:icu' 60 dokuwiki
