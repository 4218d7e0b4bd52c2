// The console works without this: every read and every action is a page or a
// form of the server. What is here keeps an open page up to date, asks
// questions in a dialog, and listens to the keyboard.
import { keepUpToDate } from "./live.js";
import { interceptForms } from "./act.js";
import { tickClocks } from "./clock.js";
import { offerCopies } from "./copy.js";
import { selectMany } from "./select.js";
import { listenToKeys } from "./keys.js";

keepUpToDate();
document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
interceptForms();
tickClocks();
selectMany();
listenToKeys();
offerCopies();
