"""The words of English that rules know, as data.

Each list states why the list is closed, or that the list is open. A missing verb or noun costs a
declined request. A missing word that takes an order back, postpones or makes the amount inexact may
cost a wrong call, if nothing else in the order is strange. Words are in lower
case. Phrases are words with blanks. Source: docs/architecture.md#short-format.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(line.strip() for line in text.split(",") if line.strip())


# -- closed: words of grammar -- #

ARTICLES = _words("the a an")
"""Closed: English has no others."""

POSSESSIVES = _words("my our your his her its their")
"""Closed: those of all persons, before a noun."""

DEMONSTRATIVES = _words("this that these those")
"""Closed: English has no others."""

DETERMINERS = ARTICLES | POSSESSIVES | DEMONSTRATIVES | _words("some any")
"""What a noun begins with. Numbers, `each`, `all` and negations have lists of their own."""

PREPOSITIONS = _words(
    "to from into onto in on at with by of for as over towards toward through via inside within "
    "against under below above between among across off out up down back away around along about "
    "upon until till per than like"
)
"""Closed, but for rare ones that no order needs."""

INWARD = _words("to into onto in on towards toward inside within")
"""Prepositions that something is moved into a place with. Closed: a part of the above."""

OUTWARD = _words("from out off")
"""Prepositions that something is moved out of a place with. Closed: a part of the above."""

PARTICLES = _words("in out up down off over back away on aside")
"""What belongs to a verb: `check out`. Closed: adverbs of direction."""

OPPOSITE_PARTICLES = {
    "in": "out",
    "out": "in",
    "up": "down",
    "down": "up",
    "on": "off",
    "off": "on",
}
"""Closed: the pairs of particles that turn a verb into its opposite."""

AUXILIARIES = _words(
    "am is are was were be been being do does did have has had will would shall should can could "
    "may might must"
)
"""Closed: the forms of `be`, `do` and `have`, and the modal verbs."""

RETRACTIONS = _words(
    "refused refuses disagrees disagree disagreed rejected declined cancelled canceled withdrawn "
    "joke joking kidding fool nah nope decide decides confirm approve optional myself himself hmm "
    "maybe unsure oops vetoed objected objects "
    "protests hesitates undecided"
)
"""Words of what is said after an order that may take it back. Open."""

DISMISSALS = _words("wrong mistake scam fraud fake settled enough")
"""Words of a short remark after an order that take it back: `that's a scam`. Open."""

CONSENTS = _words("agreed agree approved confirmed signed accepted decided")
"""Words that take an order back if they are negated: `he hasn't agreed`. Open."""

SAYING = _words(
    "says said say wrote writes told tells demands demanded suggests suggested texted replied "
    "claims claimed"
)
"""Verbs of what somebody else said. Open."""

UNORDERED = _words(
    "hold held cancelled canceled rejected declined obsolete mistake wrong forbidden spam scam "
    "suggestion suggestions proposal idea ideas motion thought thoughts hypothetical scenario "
    "simulation dry example goal question reminder subject budget forecast balance owed debt debts "
    "draft template test quote estimate pending planned done paid settled history past fiction joke"
)
"""Words of a header under which nothing is to be done: `On hold: pay Ann`. Open."""

SUBJECTS = _words("i we he she they it you u there who that this these those everybody everyone")
"""Pronouns that begin a statement. Closed: those of all persons, and of everybody."""

QUESTION_WORDS = _words("what which who whom whose where when why how")
"""Closed: English has no others."""

QUESTION_OPENERS = _words(
    "am is are was were do does did has have had can could may might must should shall will would "
    "isn't aren't wasn't weren't don't doesn't didn't hasn't haven't can't couldn't shouldn't "
    "won't wouldn't"
)
"""Auxiliaries with which a question begins, if no order's opener matched before. Closed."""

JOINTS = _words("and then but also plus & n next afterwards finally lastly so")
"""Words between orders; `plus` and `so` at their start alone. Conjunctions are closed; of adverbs
of order there are more, in `SEQUENCES`."""

# -- what takes an order back, or makes it none -- #

NEGATIONS = _words(
    "not no never nobody none nothing neither nor without cannot don't dont doesn't didn't won't "
    "wouldn't can't cant couldn't shouldn't isn't aren't wasn't weren't hasn't haven't hadn't "
    "mustn't needn't ain't nowhere"
)
"""Closed: words of negation, and auxiliaries with `not`. Negating verbs are in `TALK`."""

NEEDLESS = _phrases("no need for, no need of, not necessarily, no more")
"""Phrases of negation. Open."""

EXCEPTIONS = _phrases(
    "except, excepting, excluding, apart from, aside from, other than, anything but, all but, "
    "everything but, everyone but, instead, rather, besides, save for, barring, short of"
)
"""Closed as far as prepositions go; phrases such as `short of` are open."""

CONDITIONS = _phrases(
    "if, unless, when, whenever, until, till, once, before, after, while, whilst, provided, "
    "providing, assuming, supposing, in case, as long as, as soon as, depending, in the event, "
    "else, whether, whichever, given that, so long as, subject to, pending, on condition, upon, on "
    "request, on demand, on delivery, on arrival, on receipt, permitting, allowing"
)
"""Closed as far as conjunctions go; phrases such as `in the event` are open."""

ALTERNATIVES = _phrases("or, either, and/or, alternatively, versus, vs")
"""Closed: conjunctions of choice."""

CORRECTIONS = _phrases(
    "no wait, wait, scratch that, strike that, correction, make that, make it, cancel that, never "
    "mind, nevermind, forget it, forget that, forget about it, on second thought, on second "
    "thoughts, i mean, i meant, oops, ignore that, hold on, hang on, my mistake, my bad, "
    "disregard, or rather, take that back, changed my mind, change of plan, change of plans, undo "
    "that, "
    "leave it, leave it as it is, leave that, oh wait, we'll see, "
    "jk, just kidding, only kidding, kidding, joke, a joke, only a test, just a test"
)
"""Open: there are always more ways to take a word back."""

INEXACT = _phrases(
    "about, around, approximately, approx, approx., roughly, circa, ca, ca., almost, nearly, at "
    "least, at most, up to, more than, less than, fewer than, no more than, no less than, not more "
    "than, over, under, above, below, maximum, minimum, max, min, between, some, just over, just "
    "under, upwards of, close to, somewhere, beyond, exceeding, within"
)
"""Words directly before a number that make it inexact. Open."""

INEXACT_AFTER = _phrases(
    "below, under, above, beneath, "
    "or so, or more, or less, at least, at most, max, maximum, min, minimum, tops, minus, and a "
    "bit, and change, -ish, ish, odd, plus, "
    "etc, etc., and so on, and so forth, onwards, onward, less, fewer, higher, lower, ff"
)
"""Words directly after a quantity that make it inexact. Open."""

PARTS = _phrases(
    "half, third, thirds, quarter, quarters, twice, thrice, double, triple, doubled, tripled, "
    "times, fraction, percentage, portion, part, share, rest, remainder, remaining, leftover, "
    "leftovers, difference, average, sum of, equally, evenly, split, divide, divided, multiplied, "
    "minus, surplus, excess, several, few, couple, many, lots, plenty, bunch, worth, as much as, "
    "as many as, per, combined, plus, something, anything, stuff, the usual, whatever, however, "
    "enough, extra, another, halfway, half way, half-way, midway, partly, partially, slightly, "
    "somewhat, a bit, a little, a touch, mostly, altogether, all together, "
    "in total, in all, together, this week only, today only, wherever, where it was, as before, "
    "as usual, "
    "less fees, minus fees, plus fees, before fees, after fees, net of, less tax, before tax, "
    "after tax, of which"
)
"""Amounts that would have to be computed or guessed. Open."""

UNKNOWN_PEOPLE = _words(
    "someone somebody anyone anybody everyone everybody whoever whomever people others nobody "
    "friend friends brother sister mother father mom mum dad wife husband son daughter cousin "
    "uncle aunt guy bloke chap lady gentleman boss landlord neighbour neighbor colleague roommate "
    "partner kid kids family team"
)
"""Nouns for people; open, but a person whom nobody named is found by the place as well."""

SELF = _words("me myself us ourselves")
"""Closed: the first person as an object."""

DOUBTS = _phrases(
    "maybe, perhaps, possibly, probably, might, not sure, i guess, i suppose, if any, or not, "
    "hypothetically, in theory, theoretically, unsure, "
    "for example, for instance, e.g., example, sample, fake, cancelled, canceled"
)
"""Open: there are always more ways to be unsure."""

REPEATS = _phrases(
    "every, daily, weekly, monthly, yearly, hourly, nightly, annually, annual, fortnightly, from "
    "now on, regularly, each day, each week, each month, each year, each morning, each evening, "
    "each night, each hour, a day, a week, a month, a year, an hour, per day, per week, per month, "
    "per hour, per year, always, whenever, repeatedly, again and again, recurring, each time, "
    "every time, again, once more, one more time, a second time, "
    "temporarily, on probation, for a while"
)
"""Open: calendars and habits have endless expressions."""

WEEKDAYS = _words(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays "
    "thursdays fridays saturdays sundays"
)
"""Closed: the seven days, and their plurals."""

MONTHS = _words(
    "january february march april may june july august september october november december"
)
"""Closed: the twelve months."""

LATER = _phrases(
    "tomorrow, tonight, later, soon, eventually, someday, sometime, next week, next month, next "
    "year, next time, next friday, next monday, this evening, this afternoon, this weekend, the "
    "weekend, in the morning, in the evening, in the afternoon, at noon, at midnight, by noon, end "
    "of the month, end of the week, end of the day, end of month, day after, in the future, in "
    "advance, ahead of time, overnight, christmas, easter, payday, after lunch, first thing"
)
"""Open: there are endless expressions for a time to come."""

PERIODS = _words("month week year quarter day fortnight season") | MONTHS
"""Nouns of a span of time: `the last of the month`. Closed but for rare ones."""

PERIOD_ENDS = _words("last first end beginning start middle close")
"""What a time of a period is called. Open."""

EARLIER = _phrases(
    "yesterday, ago, last week, last month, last year, last night, last time, last friday, last "
    "monday, earlier, previously, recently, this morning, just now, so far, the other day"
)
"""Open: there are endless expressions for a time that is over."""

# -- open: verbs that talk about an order in place of giving it -- #

TALK = _words(
    "draft prepare remind plan schedule pretend imagine suppose assume consider think explain "
    "describe simulate ask promise agree offer intend propose suggest recommend discuss forbid "
    "prohibit ban refuse decline deny avoid prevent skip delay postpone wait stop cancel abort "
    "halt quit cease ignore forget undo reverse revert hold keep verify confirm test try rehearse "
    "estimate calculate compute review learn teach practice demand request require expect hope "
    "wish hesitate resist oppose reject say mention"
)
"""A tool that moves something has to have the verb in its own words. Open."""

# -- open: courtesy -- #

GREETINGS = _words(
    "hi hello hey dear yo ok okay alright right well so now please pls plz kindly just simply "
    "quickly greetings howdy hiya thanks thx ty cheers good morning afternoon evening sir madam "
    "folks team agent bot assistant clerk there today also finally lastly first firstly second "
    "secondly third thirdly next then and but afterwards quick task "
    "request reminder ps p.s. btw fyi yes yep yeah sure great perfect oh ah x xx xxx omg wow "
    "therefore thus hence darling mate buddy honey"
)
"""Words before an order that say nothing. Open."""

OPENERS = _phrases(
    "can you possibly, could you possibly, would you possibly, can you, could you, would you, will "
    "you, can u, could u, might you, would you mind, would you be so kind as to, would you be so "
    "kind and, would you be able to, are you able to, can we, could we, can you help me, could you "
    "help me, would it be possible to, is it possible to, may i ask you to, can i ask you to, "
    "could i ask you to, might i ask you to, i want you to, i would like you to, i'd like you to, "
    "i'd love you to, i want to, i would like to, i'd like to, i'd love to, i need you to, i need "
    "to, i have to, i must, i wish to, i would love to, i wanna, i gotta, we want to, we'd like "
    "to, we would like to, we need to, we have to, we must, we should, i should, let's, lets, "
    "let me, let "
    "us, go ahead and, please go ahead and, be so kind as to, be so kind and, be so good as to, be "
    "a dear and, make sure to, make sure you, make sure that you, be sure to, don't forget to, do "
    "not forget to, remember to, you should, you can, you may, you must, you have to, you need to, "
    "i ask you to, i am asking you to, i'm asking you to, i beg you to, help me, help me to, help "
    "us, do me a favor and, do me a favour and, do me the favour of, it's time to, it is time to, "
    "time to, your task is to, the task is to, your job is to, my request is to, my request: , i'd "
    "be grateful if you could, i would be grateful if you could, i'd be glad if you could, i would "
    "be glad if you could, i'd appreciate it if you could, i would appreciate it if you could, i'd "
    "appreciate if you could, any chance you could, any chance you can, feel free to, why don't "
    "you, if you could, if you would, if you can, if you please, what i need is to, what i want is "
    "to, all i need is to, all i want is to, i'd want you to, i would want you to, i'm hoping you "
    "can, i was hoping you could, i was wondering if you could, i wonder if you could, it would be "
    "great if you could, it would be nice if you could, it'd be great if you could, it would be "
    "lovely if you could, you could, you might, do please, please do, would you please, could you "
    "please, can you please, will you please, i want that you, i need that you, i would like that "
    "you, i'd like that you, we want that you, we need that you, please to, i need, i want, i'd "
    "like, i would like, we need, we want, we'd like, we would like, see to it that, see that, "
    "make sure, make sure that, ensure, ensure that, have to, need to, want to, wanna, gotta, am "
    "going to need you to, i'm going to need you to, i'll need you to, i will need you to, i am "
    "to, we are to, you are to, would you "
    "be so kind to, i would ask you to, i'd ask you to"
)
"""Beginnings after which an order's verb or object follows. Open."""

COURTESY = _phrases(
    "on top, my friend, my dear, please, pls, plz, thanks, thank you, thx, ty, thanks a lot, "
    "thanks so much, many thanks, thanks in advance, thank you very much, thank you so much, much "
    "appreciated, cheers, kindly, no rush, no hurry, no worries, no problem, not urgent, it's not "
    "urgent, don't worry, if you please, if possible, if you can, if you could, if you would, if "
    "you don't mind, if you do not mind, if that's ok, if that is ok, if that's okay, if that's "
    "alright, when you can, when you get a chance, when you have a chance, when you have a moment, "
    "when you have a minute, when you have time, when you get a minute, when you get a moment, "
    "whenever you can, whenever you have time, whenever you have a minute, whenever you get a "
    "chance, whenever suits you, as soon as you can, as soon as possible, asap, a.s.a.p., at your "
    "earliest convenience, at your convenience, right away, right now, at once, immediately, "
    "straight away, straightaway, now, today, quickly, quick, that's all, that is all, that's it, "
    "that is it, that'll be all, that will be all, for me, for us, on my behalf, best regards, "
    "kind regards, regards, best wishes, sincerely, yours, sorry to bother you, sorry to bother, "
    "sorry for the trouble, sorry for bothering you, sorry for the short notice, have a nice day, "
    "have a good one, have a great day, good morning, good afternoon, good evening, how are you, "
    "hope you are well, i hope you are well, hope you're well, hope all is well, hi there, hello "
    "there, hey there, to be clear, to be precise, in full, in total, exactly, precisely, will "
    "you, would you, could you, can you, ok, okay, would be great, that would be great, that would "
    "be nice, would be nice, that'd be great, you're the best, you are the best, you're great, i "
    "appreciate it, appreciate it, don't wait, can't wait, and that's it, and nothing else, "
    "nothing else, nothing more, no more no less, not more not less, and no more, only, once you "
    "can, in one go, in advance thanks, bye, lol, haha, xoxo, cheers mate, mate, buddy, dude, "
    "thank u, tia, this time, for now, first thing please, straight, directly, just, simply, there "
    "you go, in favour of, in favor of, on behalf of, in the name of, do it, do this, do that, do "
    "it now, get it done, make it so, make it happen, this week, this month, this year, this "
    "quarter, good luck, as agreed, as discussed, as promised, as usual please, as we agreed, as "
    "we discussed, like we said, like we agreed, like we discussed, as always, let's face it, "
    "while you're about it, while you are about it, while you're at it, while you are at it, this "
    "one, one more thing, and one more thing, by the way, btw, after all, at the moment, for the "
    "moment, at present, as of now, as it stands, these days, thank you ever so much, ever so "
    "much, sorry to be a nuisance, so sorry to be a nuisance, sorry to be a pain, sorry to ask"
)
"""What is left out wherever it stands; longest first. Open."""

SEQUENCES = _phrases(
    "after that, after this, after which, once that is done, once that's done, once that is "
    "through, once done, once it's done, when done, when that is done, when that's done, when you "
    "are done, when you're done, as soon as that is done, as soon as that's done, after doing so, "
    "having done that, once you have done that, once you've done that, then, and then, next, "
    "afterwards, and afterwards, subsequently, following that, followed by, finally, lastly, last, "
    "and finally, and lastly, in the end, first, first of all, firstly, to begin with, to start, "
    "for starters, second, secondly, third, thirdly, at the end, in that order, in this order, "
    "last but not least, step one, step two, step three, once finished, when finished, and after "
    "that, and next, right after, right after that, thereafter, thereupon"
)
"""Words for the order of the steps, which is that of the text. Open."""

REASONS = _phrases(
    "on top of, because, otherwise, or else, since, seeing that, seeing as, cause, cuz, 'cause, as "
    "i, as he, as she, as they, as we, as it, as this, as that, so that, in order to, so he, so "
    "she, so i, so we, so they, so it, due to, owing to, thanks to, given the, given my, given "
    "our, given his, given her, given their, given how"
)
"""Beginnings of a clause that says why, up to the end of its part. Open: phrases such as `seeing
that` are many."""

PURPOSES = _words("for")
"""`for lunch`: with what follows, why; unless it names somebody or something. Closed: the one
preposition of purpose."""

MONEY_NOUNS = _words(
    "new one ones another following amount sum total token tokens coin coins money cash fund funds "
    "payment transfer transaction balance account wallet address bill tip fee donation gift reward "
    "salary wage unit units piece pieces deposit withdrawal price value number figure quantity "
    "crypto order currency stake bit"
)
"""Nouns beside an amount that say nothing. Open."""

PLAIN_NOUNS = _words("new one ones following number figure quantity unit units piece pieces value")
"""Words before or beside a value that say nothing, whatever it is of. Open."""

TASKS = _words(
    "thing things task tasks job jobs favour favours favor favors order orders errand errands "
    "request requests bit bits"
)
"""Nouns of what is asked for: `two things: …`. Open."""

ADVERBS = _words(
    "now today immediately asap quickly directly straight right away over back just exactly "
    "precisely only also too together please kindly here there safely properly manually quietly "
    "already plain accordingly obviously clearly naturally completely fully entirely totally "
    "wholly course"
)
"""Words that change nothing about what an order does. Open."""

RECEIVES = _phrases(
    "must go, should go, shall go, have to go, has to go, is to go, are to go, goes, go, goes to, "
    "go to, goes on, go on, gets, get, also gets, also get, also receives, receives, receive, "
    "should get, should receive, is to get, is to receive, will get, must get, shall get, has to "
    "get, should have, is getting, is owed, takes"
)
"""Verbs of an order whose subject is the recipient: `Bob gets 5`. Open."""

ALL = _phrases(
    "all of it, all of them, all of that, all of this, all of those, all of these, it all, them "
    "all, everything, all my, all of my, all our, all of our, all the, all of the, the whole, my "
    "whole, my entire, the entire, the full, my full, the full amount, the entire amount, the "
    "whole amount, the whole lot, the lot, the whole thing, all"
)
"""Open: nouns such as `lot` are many."""

FRACTIONS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
"""Parts of an amount, with `of it` or `of my` after them. Open: parts with other names are not
computed."""

SAME = _phrases(
    "the same amount, the same number, the same sum, the same, the same value, that same amount, "
    "that amount, that number, this amount, that sum, that value, that much, this much, that many, "
    "the same value, as many as that, as much, as many, this number, the amount, the sum, the "
    "result, that result, what came out, what comes out, what you get, what i get, what it says, "
    "what it gives, what you got, whatever comes out, whatever you get, the proceeds, the outcome, "
    "the number it gives, the reading, the value, that figure, the figure, the same figure"
)
"""Phrases that stand for an amount before them. Open."""

OF_RESULTS = _phrases(
    "the result, that result, what came out, what comes out, what you get, what i get, what it "
    "says, what it gives, what you got, whatever comes out, whatever you get, the proceeds, the "
    "outcome, the number it gives, the reading"
)
"""Those of them that a result alone can mean, and no amount of the request. Closed by `SAME`."""

IT = _words("it this that them those these they")
"""Closed: pronouns for things."""

HIM = _words("him her them he she")
"""Closed: pronouns for persons."""

SAME_PLACE = _phrases(
    "that account, that address, that wallet, the same account, the same address, the same wallet, "
    "the same person, that person, this account, this address, this wallet, this person, the "
    "account, said account, there"
)
"""Phrases that stand for an account before them. Open."""

EACH = _words("each apiece every both")
"""Closed: English has no others."""

# -- verbs that mean the same -- #

_VERBS = (
    (
        (
            "pay, send, transfer, give, tip, donate, distribute, disburse, reward, grant, payout, "
            "send out, pay out, contribute, award, remit, reimburse, gift, forward, deliver, settle"
        ),
        (
            "wire, hand, hand over, compensate, credit, send over, pass, pass on, slip, spend, top "
            "up, refund, pay off, chip in, transmit, drop, ping, dish out, present, allocate, "
            "assign, issue, release, fork over, push, venmo, shoot, beam, treat, put toward, put "
            "towards"
        ),
    ),
    (
        (
            "deposit, supply, invest, fund, save, add, put, feed, load, provide, put in, top up, "
            "store, lodge, bank, stash"
        ),
        (
            "place, deploy, park, tuck, tuck away, put away, lay by, put aside, set aside, pay in, "
            "drop in, contribute, squirrel away, sock away, stow, stick, pop, chuck in, throw in, "
            "pour, fill, charge, move in, plough"
        ),
    ),
    (
        (
            "withdraw, redeem, take out, pull, extract, retrieve, draw, pull out, cash out, take, "
            "get out"
        ),
        (
            "remove, claim back, get back, take back, fetch, draw out, collect, bring back, cash, "
            "liberate, unlock, return, move out, recover, free up, cash in"
        ),
    ),
    (
        "swap, exchange, trade, convert",
        "change, trade in, flip, turn, turn into, switch",
    ),
    (
        "sell",
        "sell off, offload, dump, trade, trade in",
    ),
    (
        "buy, purchase, acquire, order",
        "get, trade, snap up, pick up, grab",
    ),
    (
        "stake, bond",
        "lock, lock up",
    ),
    (
        "unstake, unbond",
        "unlock",
    ),
    (
        "approve, allow, authorise, authorize, permit",
        "",
    ),
    (
        "mint, create, issue, forge, craft",
        "print",
    ),
    (
        "burn, destroy",
        "",
    ),
    (
        "lend, loan, check out",
        "lend out, hand out, book out, give out",
    ),
    (
        "borrow",
        "take a loan, take out a loan, check out, take out",
    ),
    (
        "repay",
        "pay back, give back, pay off, settle, return",
    ),
    (
        "wrap",
        "",
    ),
    (
        "unwrap",
        "turn back, change back, convert back, swap back",
    ),
    (
        "claim, harvest, collect",
        "cash in",
    ),
    (
        "release",
        "let go, free, give up",
    ),
    (
        "refund, reimburse",
        "get back, pay back, give back, return, reimburse, send back",
    ),
    (
        "list, offer, auction",
        "relist, put on the market, put up, put up for sale, sell, put on sale, advertise",
    ),
    (
        "cancel, revoke, void",
        (
            "take off the market, withdraw from sale, take off sale, pull from sale, take off, "
            "call off, drop, delist, take down, undo, scrap"
        ),
    ),
    (
        "delegate",
        "hand over, entrust, assign",
    ),
    (
        "book, reserve, rent, hire",
        "take, put down, book in",
    ),
    (
        "note, write, record, log, register, enter",
        "note down, write down, jot, jot down, put, put down, enter, scribble",
    ),
    (
        "announce, post, publish, broadcast",
        "proclaim, spread the word, pin, pin up, put up, hang up",
    ),
    (
        "rename, name, title",
        "call",
    ),
    (
        "set, change, update, adjust, switch, alter",
        "turn, put, make, fix",
    ),
    (
        "raise, increase, lift, boost",
        "turn up, bump, bump up, push up, crank up, up",
    ),
    (
        "lower, decrease, reduce, cut, dim",
        "drop, turn down, bring down, down, take off, knock off",
    ),
    (
        "open, unseal",
        "open up",
    ),
    (
        "close, shut, seal",
        "shut down, close up, close down",
    ),
    (
        "enable, activate, start",
        "turn on, switch on",
    ),
    (
        "disable, deactivate, stop",
        "turn off, switch off, shut off",
    ),
    (
        "pause, suspend, freeze, halt",
        "put on hold",
    ),
    (
        "resume, unpause, continue, unfreeze",
        "restart",
    ),
    (
        "admit, accept, enrol, enroll",
        "let in, welcome, sign up, make a member, add as a member, add as member",
    ),
    (
        "invite",
        "ask along",
    ),
    (
        "remove, delete, kick, expel, strike, erase, evict",
        "kick out, throw out, take off, strike off, drop, cross off, cross out",
    ),
    (
        "discard, dispose, trash",
        "throw out, throw away, chuck out, toss out, get rid of",
    ),
    (
        "append, include, insert, add",
        "put, put on, pop, pop on, stick on, stick",
    ),
    (
        "extend, prolong, renew",
        "lengthen",
    ),
    (
        "return, check in, take back",
        "check back in, book in, book back in, bring back, give back, hand back, hand in, receive",
    ),
    (
        "rate, score, grade",
        "",
    ),
    (
        "promote",
        "",
    ),
    (
        "join, enter",
        "sign up",
    ),
    (
        "leave, quit, exit, resign",
        "",
    ),
    (
        "search, find, look up, consult",
        "look for, dig up, check",
    ),
    (
        "vote, cast",
        "cast a vote, cast my vote, back, support",
    ),
)
"""Verbs of one meaning, in two texts: those that functions are called by, and others people say."""

TOOL_VERBS = {own.partition(",")[0]: _phrases(own) for own, _ in _VERBS}
"""Of each meaning, the verbs that functions are called by. A tool has the meanings of its verb."""

VERBS = {own.partition(",")[0]: _phrases(f"{own}, {said}") for own, said in _VERBS}
"""Of each meaning, all its verbs. Open: what is missing is declined where money moves."""

PERFORM = _words("make do perform execute initiate process arrange complete carry effect")
"""Verbs whose object is the order: `make a transfer`. Open."""

ACTIONS = {
    "payment": "pay", "withdrawal": "withdraw", "donation": "donate", "deposit": "deposit",
    "transfer": "transfer", "swap": "swap", "exchange": "exchange", "purchase": "purchase",
    "sale": "sell", "trade": "trade", "refund": "refund", "reimbursement": "reimburse",
    "contribution": "contribute", "loan": "lend", "booking": "book", "reservation": "reserve",
    "vote": "vote", "proposal": "propose", "announcement": "announce", "note": "note", "bid": "bid",
    "order": "order", "investment": "invest", "repayment": "repay", "conversion": "convert",
    "bonus": "pay", "prize": "pay", "salary": "pay", "allowance": "pay",
    "instalment": "pay", "installment": "pay", "redemption": "redeem", "delivery": "deliver",
    "release": "release",
}  # fmt: skip
"""Nouns of what such an order does, and its verb. Open."""

CHANGES = _words(
    "set change update adjust switch alter turn put make fix bring get move push take keep let "
    "have want need place leave rename retitle"
)
"""Verbs of a change that say nothing of its direction. Open."""

COMPARATIVES = {
    "cheaper": "lower", "lower": "lower", "cooler": "lower", "colder": "lower", "quieter": "lower",
    "dearer": "raise", "higher": "raise", "warmer": "raise", "hotter": "raise", "louder": "raise",
    "brighter": "raise", "darker": "lower", "pricier": "raise",
}  # fmt: skip
"""Adjectives of more and less, and the meaning of the verb. Open."""

VERB_NOUNS: dict[str, tuple[str, ...]] = {
    "cool": ("temperature",), "chill": ("temperature",), "heat": ("temperature",),
    "warm": ("temperature",), "rename": ("name", "title"), "retitle": ("title",),
    "reprice": ("price",), "promote": ("rank",), "demote": ("rank",),
}  # fmt: skip
"""Verbs that name the value that they change. Open."""

PERFORMATIVES = _words("vote rate propose nominate choose abstain endorse second")
"""Verbs that act by being said in the first person: `I vote for proposal 3`. Open."""

WRITES = _words("write print ice engrave")
"""Verbs of a text that is put on something: `write "Welcome" on cake 3`. Open."""

GIVES = _words("give grant award hand credit")
"""Verbs that add something to what somebody has. Open."""

GIVING = _words("pay pays send sends give gives owe owes lend lends transfer transfers contribute")
"""Verbs whose subject is no recipient: `Mia pays 20`. Open."""

CHANGED = _words(
    "lost gained grew rose fell dropped increased decreased went up down more less fewer extra "
    "another gone risen fallen grown sank climbed"
)
"""Words with which a number says by how much something changed. Open."""

SETTLED = _words(
    "paid done sent settled cancelled canceled void skip ignore ignored finished already old wrong "
    "declined rejected pending draft tbc tbd not never no closed refunded received"
)
"""Words beside a line that say that it is no order. Open."""

MAKES = _words("make create start open add post table submit file put raise need want")
"""Verbs whose object is a new thing: `table a new proposal`. Open."""

DUE = _words("due payable valid starting beginning ending lasting")
"""Words that begin a phrase about when, after an order. Open."""

LIGHT_VERBS = _words("take use go grab get have come try open pick start begin look")
"""Verbs of a first part whose object is the second one's `it`: `take 5 USDC and swap it`. Open."""

OPPOSITES: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (
        _words(
            "raise increase lift boost up heighten turnup louder higher more warmer brighter dearer"
        ),
        _words("lower decrease reduce drop cut down dim lessen quieter less cooler colder cheaper"),
    ),
    (_words("open unseal"), _words("close shut seal")),
    (_words("lock"), _words("unlock")),
    (_words("add append insert include"), _words("remove delete drop erase exclude strike")),
    (_words("join enter enrol enroll signup"), _words("leave quit exit resign")),
    (
        _words("start begin launch resume unpause activate enable on"),
        _words("stop end halt pause suspend deactivate disable off"),
    ),
    (
        _words("admit invite welcome accept approve allow permit grant enable"),
        _words("expel kick ban reject deny refuse revoke block disallow evict exclude disable"),
    ),
    (_words("lend loan"), _words("borrow")),
    (_words("buy purchase"), _words("sell")),
    (_words("deposit stake supply"), _words("withdraw unstake redeem")),
    (_words("mint create"), _words("burn destroy")),
    (_words("promote"), _words("demote")),
    (_words("follow"), _words("unfollow")),
    (_words("show display unhide reveal"), _words("hide conceal")),
    (_words("pause suspend freeze"), _words("resume unpause continue unfreeze")),
    (_words("extend lengthen prolong"), _words("shorten")),
    (_words("deliver receive"), _words("return")),
    (_words("mute silence"), _words("unmute")),
    (_words("wrap"), _words("unwrap")),
    (_words("book reserve rent hire"), _words("cancel release vacate")),
    (_words("upvote for"), _words("downvote against")),
)
"""Words that exclude each other: a tool of one is not meant by the other. Open."""

READ_NOUNS: dict[str, tuple[str, ...]] = {
    "weigh": ("weight",),
    "cost": ("price",), "ow": ("due", "debt"), "own": ("balance",), "have": ("balance",),
    "hold": ("balance",), "got": ("balance",), "get": ("balance",), "outstand": ("due",),
    "warm": ("temperature",), "cold": ("temperature",), "hot": ("temperature",),
    "left": ("remaining", "available", "balance"), "leav": ("remaining", "available", "balance"),
}  # fmt: skip
"""Stems of words of a question, and the words of tools that answer it. Open."""

READ_VERBS = _words(
    "remind show tell view check read see report display list look find know quote inspect say "
    "give print get fetch lookup query count search return reveal output determine"
)
"""Verbs that ask for something that a tool tells. Open."""

ASK_VERBS = _words(
    "show tell view check see look know remind display quote inspect query search lookup determine"
)
"""Those that ask for nothing else. Open."""

READ_STARTS = _words(
    "shows tells reads returns views displays quotes queries searches says whether number how "
    "current see read show view reveals what which who estimates estimate calculates computes "
    "describes"
)
"""First words of the description of a tool that only reads. Open: a tool with another writes."""

LOOK_STARTS = _words("checks counts finds looks")
"""First words of such a description, if one of `LOOKED` follows: `Checks out a book` acts. Open."""

LOOKED = _words("something somebody whether if the a an all how what who which at up for in into")
"""Second words of such a description. Open."""

TRUE_WORDS = _words(
    "true yes enable enabled active approve approved allow allowed accept accepted activate "
    "activated start"
)
"""Words for true; `on` and `off` say truth values as particles alone. Open."""

FALSE_WORDS = _words(
    "false no disable disabled inactive deny denied reject rejected deactivate deactivated stop"
)
"""Words for false. Open."""

MEASURES: dict[str, tuple[str, int]] = {
    "kg": ("kilogram", 1), "kgs": ("kilogram", 1), "kilo": ("kilogram", 1),
    "kilos": ("kilogram", 1), "tonne": ("kilogram", 1_000), "tonnes": ("kilogram", 1_000),
    "g": ("gram", 1), "l": ("litre", 1), "liter": ("litre", 1), "liters": ("litre", 1),
    "km": ("kilometre", 1), "cm": ("centimetre", 1), "mm": ("millimetre", 1),
    "ml": ("millilitre", 1), "db": ("decibel", 1), "pcs": ("piece", 1), "pc": ("piece", 1),
    "pts": ("point", 1),
}  # fmt: skip
"""Short forms of measures: the noun, and how many of it one is. Open."""

FIAT = _words(
    "dollar dollars buck bucks euro euros pound pounds yen usd eur gbp chf yuan rupee rupees franc "
    "francs quid grand cents cent penny pennies pence bitcoin bitcoins btc sats satoshi satoshis "
    "ether eth sol doge nft nfts"
)
"""Currencies that may be none of the agent's. Open."""

SPELLED = _words("days hours minutes months seconds weeks years actually erm hmm uh")
"""Words that no rule asks for, and that are no typing errors. Open."""


def _gather() -> frozenset[str]:
    found: set[str] = set()
    for value in list(globals().values()):
        texts = (
            value.keys()
            if isinstance(value, dict)
            else value
            if isinstance(value, frozenset)
            else ()
        )
        for text in texts:
            if isinstance(text, str):
                found.update(text.split())
    for verbs in VERBS.values():
        for verb in verbs:
            found.update(verb.split())
    for left, right in OPPOSITES:
        found |= left | right
    found |= set(ACTIONS.values())
    return frozenset(found)


ALL_WORDS = _gather()
"""Each word of these lists: they are spelled right, and typing errors are corrected to them."""
