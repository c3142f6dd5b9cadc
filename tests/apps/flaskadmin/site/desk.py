"""A help desk: tickets of customers, with tags."""

import datetime as dt
import hmac
import os
from pathlib import Path

from flask import Flask, redirect, request, session, url_for
from flask_admin import Admin
from flask_admin.contrib.sqla import ModelView
from flask_sqlalchemy import SQLAlchemy

app = Flask(__name__)
app.secret_key = "k" * 32
app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{Path(os.environ['STATE_DIR']) / 'db.sqlite3'}"
db = SQLAlchemy(app)

ticket_tags = db.Table(
    "ticket_tags",
    db.Column("ticket_id", db.ForeignKey("ticket.id")),
    db.Column("tag_id", db.ForeignKey("tag.id")),
)


class Tag(db.Model):
    """A word under which tickets are found."""

    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(40))

    def __str__(self):
        return self.name


class Customer(db.Model):
    """Who asked."""

    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(80), nullable=False)
    city = db.Column(db.String(40))

    def __str__(self):
        return self.name


class Ticket(db.Model):
    """What was asked."""

    id = db.Column(db.Integer, primary_key=True)
    subject = db.Column(db.String(120), nullable=False)
    body = db.Column(db.Text)
    priority = db.Column(db.Enum("low", "normal", "urgent", name="priority"), nullable=False, default="normal")
    due = db.Column(db.Date)
    opened = db.Column(db.DateTime)
    billable = db.Column(db.Boolean, default=False)
    hours = db.Column(db.Numeric(6, 2))
    customer_id = db.Column(db.ForeignKey("customer.id"))
    customer = db.relationship(Customer, backref="tickets")
    tags = db.relationship(Tag, secondary=ticket_tags)


class SignedInView(ModelView):
    """A view for those who are signed in."""

    can_view_details = True

    def is_accessible(self):
        return bool(session.get("signed_in"))

    def inaccessible_callback(self, _name, **_others):
        return redirect(url_for("login", next=request.url))


class TicketView(SignedInView):
    """Tickets: the customer is searched for, two cells of the list can be edited where they stand."""

    form_ajax_refs = {"customer": {"fields": ["name", "city"], "page_size": 10}}
    column_searchable_list = ["subject"]
    column_editable_list = ["priority", "subject"]
    column_filters = ["priority", "due"]
    column_list = ["id", "subject", "priority", "due", "billable", "customer"]


class CustomerView(SignedInView):
    """Customers; their tickets are not entered here."""

    form_excluded_columns = ["tickets"]


admin = Admin(app, name="Desk")
admin.add_view(TicketView(Ticket, db))
admin.add_view(CustomerView(Customer, db))
admin.add_view(SignedInView(Tag, db))

SIGN_IN = """<title>Sign in</title><form method=post><label>User <input name=username></label>
<label>Password <input type=password name=password></label> <button>Sign in</button></form>"""


@app.route("/login", methods=["GET", "POST"])
def login():
    """The sign-in page."""
    if request.method == "GET":
        return SIGN_IN
    given = request.form.get("password", "").encode()
    if request.form.get("username") != "admin" or not hmac.compare_digest(given, os.environ["PASSWORD"].encode()):
        return "Wrong", 403
    session["signed_in"] = 1
    return redirect("/admin/ticket/")


@app.route("/")
def root():
    """The first page."""
    return redirect("/admin/")


def first_records():
    """The records that are there before anybody enters one."""
    for name, city in (
        ("Acme Clinic", "Basel"),
        ("Blue Hospital", "Lyon"),
        ("Cedar Labs", "Porto"),
        ("Cedar Lane Dental", "Leeds"),
    ):
        db.session.add(Customer(name=name, city=city))
    for name in ("billing", "network", "printer"):
        db.session.add(Tag(name=name))
    db.session.flush()
    for place in range(5):
        due = dt.date(2026, 1, 1 + place)
        db.session.add(
            Ticket(subject=f"Old ticket {place}", body="old", priority="low", due=due, customer_id=1 + place % 4)
        )
    db.session.commit()


with app.app_context():
    db.create_all()
    if not Customer.query.count():
        first_records()
app.run("127.0.0.1", int(os.environ["PORT"]), threaded=True)
