"""Ten web apps that others wrote, each with its own database, started on loopback for trying record and replay."""
