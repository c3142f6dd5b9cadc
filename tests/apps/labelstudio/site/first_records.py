"""A project with letters to be labelled: ``first_records.py URL EMAIL PASSWORD``."""

import re
import sys

import requests

LABELS = """<View><Text name="text" value="$text"/>
<Choices name="kind" toName="text" choice="single">
<Choice value="Complaint"/><Choice value="Praise"/><Choice value="Question"/></Choices>
<Rating name="sev" toName="text"/><DateTime name="when" toName="text" only="date"/>
<Number name="age" toName="text"/><TextArea name="note" toName="text" maxSubmissions="1"/></View>"""
LETTERS = ("The ward was cold.", "Great nurses.", "When is my visit?", "The food was late.")

url, email, password = sys.argv[1:4]
client = requests.Session()
page = client.get(f"{url}/user/login/", timeout=60).text
token = re.search(r'csrfmiddlewaretoken" value="([^"]+)', page)[1]
form = {"csrfmiddlewaretoken": token, "email": email, "password": password}
client.post(f"{url}/user/login/", data=form, headers={"Referer": f"{url}/user/login/"}, timeout=60).raise_for_status()


def post(path, body):
    """One call of the app's own interface."""
    headers = {"X-CSRFToken": client.cookies["csrftoken"], "Referer": url}
    answer = client.post(url + path, json=body, headers=headers, timeout=60)
    answer.raise_for_status()
    return answer.json()


project = post("/api/projects", {"title": "Letters", "label_config": LABELS})["id"]
post(f"/api/projects/{project}/import", [{"text": LETTERS[place % 4] + f" ({place + 1})"} for place in range(40)])
