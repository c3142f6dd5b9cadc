#!/bin/bash
# WordPress 6 (Debian) on PHP's own server: the block editor and classic forms; a MariaDB of its own on a Unix socket.
. "$(dirname "$0")/../lib.sh"
running_already /wp-login.php
apt_install php-cli php-mysql php-xml php-mbstring php-gd php-curl mariadb-server wordpress wordpress-theme-twentytwentythree
SITE="$STATE/www"
DATA="$STATE/mysql"
# The path of a socket is short, so it cannot stand in a deep state folder.
SOCKET="${TMPDIR:-/tmp}/surehand-wordpress-$PORT.sock"
OWNER="$(id -un)"
[ "$OWNER" != root ] || OWNER=mysql

database() { mariadb --no-defaults -S "$SOCKET" -u root "$@"; }

make_database() {
  mkdir -p "$DATA"
  if [ "$OWNER" = mysql ]; then
    chown -R mysql "$DATA"
    chmod a+x "$STATE"
  fi
  quietly mariadb-install-db --no-defaults --user="$OWNER" --datadir="$DATA" --auth-root-authentication-method=normal
}

start_database() {
  [ -d "$DATA/mysql" ] || make_database
  launch mariadbd --no-defaults --user="$OWNER" --datadir="$DATA" --socket="$SOCKET" --skip-networking \
    --pid-file="$DATA/pid" --innodb-buffer-pool-size=64M
  echo "$SOCKET" >"$STATE/socket"
  for _ in $(seq 240); do
    mariadb-admin --no-defaults -S "$SOCKET" -u root ping >/dev/null 2>&1 && return 0
    sleep 0.25
  done
  fail "no database within 60 s"
}

copy() {
  rm -rf "$SITE"
  # Some of Debian's links lead to its own configuration, which is not used here.
  cp -rL /usr/share/wordpress "$SITE" 2>>"$INSTALL_LOG" || true
  cp -rLn /var/lib/wordpress/wp-content/. "$SITE/wp-content/" 2>>"$INSTALL_LOG" || true
  rm -f "$SITE/wp-config.php"
  mkdir -p "$SITE/wp-content/uploads"
}

fill() {
  quietly database -e "drop database if exists wp; create database wp;
    create user if not exists wp@localhost identified by 'wp'; grant all on wp.* to wp@localhost"
  copy
  cat >"$SITE/wp-config.php" <<PHP
<?php
define('DB_NAME', 'wp'); define('DB_USER', 'wp'); define('DB_PASSWORD', 'wp'); define('DB_HOST', 'localhost:$SOCKET');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('AUTH_KEY', 'a'); define('SECURE_AUTH_KEY', 'b'); define('LOGGED_IN_KEY', 'c'); define('NONCE_KEY', 'd');
define('AUTH_SALT', 'e'); define('SECURE_AUTH_SALT', 'f'); define('LOGGED_IN_SALT', 'g'); define('NONCE_SALT', 'h');
\$table_prefix = 'wp_';
define('WP_DEBUG', false); define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true); define('DISABLE_WP_CRON', true);
define('WP_SITEURL', getenv('WORDPRESS_URL')); define('WP_HOME', getenv('WORDPRESS_URL'));
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
PHP
  (cd "$SITE" && quietly php -r '
    define("WP_INSTALLING", true);
    $_SERVER["HTTP_HOST"] = parse_url(getenv("WORDPRESS_URL"), PHP_URL_HOST);
    require "wp-load.php";
    require_once ABSPATH . "wp-admin/includes/upgrade.php";
    add_filter("pre_wp_mail", "__return_true");
    wp_install("Ward news", $argv[1], $argv[2], true, "", $argv[3]);' "$ADMIN" "$EMAIL" "$PASSWORD")
}

export WORDPRESS_URL="${PUBLIC_URL:-$URL}"
start_database
first_time fill
cd "$SITE"
PHP_CLI_SERVER_WORKERS=4 launch php -S "127.0.0.1:$PORT" -t "$SITE"
ready /wp-login.php 60 user_login
