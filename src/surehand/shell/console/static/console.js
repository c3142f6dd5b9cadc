// Enters with the token of the address, and tells when what is shown is not what holds any more.
"use strict";

const page = document.body.dataset;

async function enter() {
  const token = location.hash.slice(1);
  if (page.page !== "sign-in" || !token) return;
  history.replaceState(null, "", "/");
  document.getElementById("entering").hidden = false;
  document.getElementById("token").value = token;
  document.getElementById("enter").submit();
}

function isBusy() {
  return document.querySelector("input[name=confirm]:checked") !== null;
}

async function compare() {
  const item = location.pathname.startsWith("/items/") ? location.pathname.split("/")[2] : null;
  const after = new URLSearchParams(location.search).get("after");
  const asked = item ? `?item=${encodeURIComponent(item)}` : after ? `?after=${encodeURIComponent(after)}` : "";
  let mark;
  try {
    const answer = await fetch(`/state${asked}`, { cache: "no-store" });
    mark = answer.ok ? (await answer.json()).mark : null;
  } catch {
    mark = null;
  }
  if (mark === page.mark) return say("");
  if (mark === null) return say("The console does not answer. What stands here may be old.");
  if (isBusy()) return say("This has changed since you loaded it. ", "Show what holds now");
  location.reload();
}

function say(text, link) {
  const place = document.getElementById("changed");
  if (place.dataset.said === text) return;
  place.dataset.said = text;
  place.textContent = text;
  if (!link) return;
  const anchor = document.createElement("a");
  anchor.href = location.href;
  anchor.textContent = link;
  place.append(anchor);
}

enter();
if (page.mark) setInterval(compare, 2000);
