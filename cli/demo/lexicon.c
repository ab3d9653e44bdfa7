/* lexicon.c: the tables. An English word has one French translation in every position the grammar allows. */
#include "demo/lexicon.h"

#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* ---- nouns ---- */

#define M(en, ens, fr, frs, kind)                                                                                      \
    {                                                                                                                  \
        { en, ens }, { fr, frs }, false, kind, false                                                                   \
    }
#define F(en, ens, fr, frs, kind)                                                                                      \
    {                                                                                                                  \
        { en, ens }, { fr, frs }, true, kind, false                                                                    \
    }
#define MH(en, ens, fr, frs, kind)                                                                                     \
    {                                                                                                                  \
        { en, ens }, { fr, frs }, false, kind, true                                                                    \
    } /* h aspirated */
#define FH(en, ens, fr, frs, kind)                                                                                     \
    {                                                                                                                  \
        { en, ens }, { fr, frs }, true, kind, true                                                                     \
    }

const demo_noun demo_nouns[] = {
    M("man", "men", "homme", "hommes", PERSON),
    F("woman", "women", "femme", "femmes", PERSON),
    M("boy", "boys", "garçon", "garçons", PERSON),
    F("girl", "girls", "fille", "filles", PERSON),
    M("child", "children", "enfant", "enfants", PERSON),
    M("teacher", "teachers", "professeur", "professeurs", PERSON),
    M("doctor", "doctors", "médecin", "médecins", PERSON),
    M("king", "kings", "roi", "rois", PERSON),
    F("queen", "queens", "reine", "reines", PERSON),
    M("friend", "friends", "ami", "amis", PERSON),
    M("neighbour", "neighbours", "voisin", "voisins", PERSON),
    M("student", "students", "étudiant", "étudiants", PERSON),
    M("farmer", "farmers", "fermier", "fermiers", PERSON),
    MH("hero", "heroes", "héros", "héros", PERSON),
    F("nurse", "nurses", "infirmière", "infirmières", PERSON),
    F("actress", "actresses", "actrice", "actrices", PERSON),
    M("uncle", "uncles", "oncle", "oncles", PERSON),
    F("sister", "sisters", "sœur", "sœurs", PERSON),
    M("brother", "brothers", "frère", "frères", PERSON),
    F("mother", "mothers", "mère", "mères", PERSON),
    M("father", "fathers", "père", "pères", PERSON),
    M("dog", "dogs", "chien", "chiens", ANIMAL),
    M("cat", "cats", "chat", "chats", ANIMAL),
    M("horse", "horses", "cheval", "chevaux", ANIMAL),
    M("bird", "birds", "oiseau", "oiseaux", ANIMAL),
    F("cow", "cows", "vache", "vaches", ANIMAL),
    M("fox", "foxes", "renard", "renards", ANIMAL),
    M("bear", "bears", "ours", "ours", ANIMAL),
    M("donkey", "donkeys", "âne", "ânes", ANIMAL),
    MH("owl", "owls", "hibou", "hiboux", ANIMAL),
    MH("hedgehog", "hedgehogs", "hérisson", "hérissons", ANIMAL),
    F("mouse", "mice", "souris", "souris", ANIMAL),
    M("wolf", "wolves", "loup", "loups", ANIMAL),
    F("bee", "bees", "abeille", "abeilles", ANIMAL),
    M("book", "books", "livre", "livres", TEXT),
    F("letter", "letters", "lettre", "lettres", TEXT),
    M("newspaper", "newspapers", "journal", "journaux", TEXT),
    F("story", "stories", "histoire", "histoires", TEXT),
    F("door", "doors", "porte", "portes", LOCKED),
    F("window", "windows", "fenêtre", "fenêtres", LOCKED),
    F("box", "boxes", "boîte", "boîtes", LOCKED),
    F("suitcase", "suitcases", "valise", "valises", LOCKED),
    F("apple", "apples", "pomme", "pommes", EDIBLE),
    F("orange", "oranges", "orange", "oranges", EDIBLE),
    M("egg", "eggs", "œuf", "œufs", EDIBLE),
    M("cake", "cakes", "gâteau", "gâteaux", EDIBLE),
    F("table", "tables", "table", "tables", THING),
    F("chair", "chairs", "chaise", "chaises", THING),
    F("car", "cars", "voiture", "voitures", THING),
    M("tree", "trees", "arbre", "arbres", THING),
    F("flower", "flowers", "fleur", "fleurs", THING),
    F("key", "keys", "clé", "clés", THING),
    F("picture", "pictures", "image", "images", THING),
    M("knife", "knives", "couteau", "couteaux", THING),
    M("hat", "hats", "chapeau", "chapeaux", THING),
    FH("axe", "axes", "hache", "haches", THING),
    FH("harp", "harps", "harpe", "harpes", THING),
    F("clock", "clocks", "horloge", "horloges", THING),
    M("bag", "bags", "sac", "sacs", THING),
    M("glass", "glasses", "verre", "verres", THING),
    F("house", "houses", "maison", "maisons", PLACE),
    M("garden", "gardens", "jardin", "jardins", PLACE),
    F("school", "schools", "école", "écoles", PLACE),
    F("church", "churches", "église", "églises", PLACE),
    M("market", "markets", "marché", "marchés", PLACE),
    M("village", "villages", "village", "villages", PLACE),
    F("city", "cities", "ville", "villes", PLACE),
    M("hotel", "hotels", "hôtel", "hôtels", PLACE),
    M("hospital", "hospitals", "hôpital", "hôpitaux", PLACE),
    F("forest", "forests", "forêt", "forêts", PLACE),
    M("office", "offices", "bureau", "bureaux", PLACE),
    M("castle", "castles", "château", "châteaux", PLACE),
    F("farm", "farms", "ferme", "fermes", PLACE),
    M("bread", NULL, "pain", NULL, MASS),
    M("cheese", NULL, "fromage", NULL, MASS),
    F("meat", NULL, "viande", NULL, MASS),
    M("rice", NULL, "riz", NULL, MASS),
    F("water", NULL, "eau", NULL, LIQUID),
    M("milk", NULL, "lait", NULL, LIQUID),
    M("coffee", NULL, "café", NULL, LIQUID),
    M("wine", NULL, "vin", NULL, LIQUID),
};
const int demo_noun_count = COUNT(demo_nouns);

/* ---- adjectives ---- */

#define REGULAR(fr)                                                                                                    \
    {                                                                                                                  \
        fr, fr "e", fr "s", fr "es"                                                                                    \
    }
#define SAME(fr)                                                                                                       \
    {                                                                                                                  \
        fr, fr, fr "s", fr "s"                                                                                         \
    }
#define EUX(stem)                                                                                                      \
    {                                                                                                                  \
        stem "eux", stem "euse", stem "eux", stem "euses"                                                              \
    }
#define BEFORE(en, kinds, ...)                                                                                         \
    {                                                                                                                  \
        en, __VA_ARGS__, NULL, true, kinds                                                                             \
    }
#define AFTER(en, kinds, ...)                                                                                          \
    {                                                                                                                  \
        en, __VA_ARGS__, NULL, false, kinds                                                                            \
    }
#define FORMS(m, f, ms, fs)                                                                                            \
    {                                                                                                                  \
        m, f, ms, fs                                                                                                   \
    }

const demo_adjective demo_adjectives[] = {
    BEFORE("big", ANY, REGULAR("grand")),
    BEFORE("small", ANY, REGULAR("petit")),
    BEFORE("young", ALIVE, SAME("jeune")),
    BEFORE("good", ALIVE | TEXT | EDIBLE, FORMS("bon", "bonne", "bons", "bonnes")),
    BEFORE("bad", ALIVE | TEXT, FORMS("mauvais", "mauvaise", "mauvais", "mauvaises")),
    { "beautiful", FORMS("beau", "belle", "beaux", "belles"), "bel", true, ANY },
    { "old", FORMS("vieux", "vieille", "vieux", "vieilles"), "vieil", true, ANY },
    { "new", FORMS("nouveau", "nouvelle", "nouveaux", "nouvelles"), "nouvel", true, OBJECT | PLACE },
    AFTER("black", ANIMAL | THING | LOCKED, REGULAR("noir")),
    AFTER("white", ANIMAL | THING | LOCKED | PLACE, FORMS("blanc", "blanche", "blancs", "blanches")),
    AFTER("red", THING | LOCKED | EDIBLE, SAME("rouge")),
    AFTER("green", THING | LOCKED | EDIBLE, REGULAR("vert")),
    AFTER("blue", THING | LOCKED, REGULAR("bleu")),
    AFTER("grey", ANIMAL | THING | LOCKED, FORMS("gris", "grise", "gris", "grises")),
    AFTER("intelligent", ALIVE, REGULAR("intelligent")),
    AFTER("tired", ALIVE, REGULAR("fatigué")),
    AFTER("sad", ALIVE | TEXT, SAME("triste")),
    AFTER("happy", ALIVE, EUX("heur")),
    AFTER("dangerous", ALIVE | PLACE, EUX("danger")),
    AFTER("famous", PERSON | TEXT | PLACE, SAME("célèbre")),
    AFTER("rich", PERSON, SAME("riche")),
    AFTER("kind", PERSON, FORMS("gentil", "gentille", "gentils", "gentilles")),
    AFTER("strange", ANY, SAME("étrange")),
    AFTER("French", PERSON | TEXT | PLACE, FORMS("français", "française", "français", "françaises")),
    AFTER("English", PERSON | TEXT, FORMS("anglais", "anglaise", "anglais", "anglaises")),
    AFTER("Italian", PERSON | TEXT | PLACE, FORMS("italien", "italienne", "italiens", "italiennes")),
    AFTER("heavy", THING | LOCKED, REGULAR("lourd")),
    AFTER("expensive", THING | TEXT | PLACE | EDIBLE, FORMS("cher", "chère", "chers", "chères")),
    AFTER("empty", LOCKED | PLACE, SAME("vide")),
    AFTER("open", LOCKED, REGULAR("ouvert")),
    AFTER("closed", LOCKED, REGULAR("fermé")),
    AFTER("quiet", PLACE | ALIVE, SAME("calme")),
    AFTER("hot", LIQUID | MASS, REGULAR("chaud")),
    AFTER("cold", LIQUID | MASS, REGULAR("froid")),
};
const int demo_adjective_count = COUNT(demo_adjectives);

/* ---- verbs ---- */

/* present, participle, stem of the future */
#define ER(s)    { s "e", s "es", s "e", s "ons", s "ez", s "ent" }, s "é", s "er"
#define ER_BE(s) { s "e", s "es", s "e", s "ons", s "ez", s "ent" }, NULL, s "er"
#define RE(s)    { s "s", s "s", s, s "ons", s "ez", s "ent" }, s "u", s "r"
#define SIX(a, b, c, d, e, f)                                                                                          \
    {                                                                                                                  \
        a, b, c, d, e, f                                                                                               \
    }

const demo_verb demo_transitive[] = {
    { "see", "sees", "seen", "voir", SIX("vois", "vois", "voit", "voyons", "voyez", "voient"), "vu", "verr", ALIVE,
      ANY },
    { "like", "likes", "liked", "aimer", ER("aim"), ALIVE, ANY },
    { "find", "finds", "found", "trouver", ER("trouv"), ALIVE, ANY },
    { "watch", "watches", "watched", "regarder", ER("regard"), ALIVE, ANY },
    { "hear", "hears", "heard", "entendre", RE("entend"), ALIVE, ALIVE },
    { "know", "knows", "known", "connaître",
      SIX("connais", "connais", "connaît", "connaissons", "connaissez", "connaissent"), "connu", "connaîtr", PERSON,
      ALIVE | PLACE },
    { "help", "helps", "helped", "aider", ER("aid"), ALIVE, ALIVE },
    { "follow", "follows", "followed", "suivre", SIX("suis", "suis", "suit", "suivons", "suivez", "suivent"), "suivi",
      "suivr", ALIVE, ALIVE },
    { "invite", "invites", "invited", "inviter", ER("invit"), PERSON, PERSON },
    { "call", "calls", "called", "appeler", SIX("appelle", "appelles", "appelle", "appelons", "appelez", "appellent"),
      "appelé", "appeller", PERSON, ALIVE },
    { "take", "takes", "taken", "prendre", SIX("prends", "prends", "prend", "prenons", "prenez", "prennent"), "pris",
      "prendr", PERSON, OBJECT | MASS },
    { "open", "opens", "opened", "ouvrir", SIX("ouvre", "ouvres", "ouvre", "ouvrons", "ouvrez", "ouvrent"), "ouvert",
      "ouvrir", PERSON, LOCKED },
    { "close", "closes", "closed", "fermer", ER("ferm"), PERSON, LOCKED },
    { "buy", "buys", "bought", "acheter", SIX("achète", "achètes", "achète", "achetons", "achetez", "achètent"),
      "acheté", "achèter", PERSON, OBJECT | MASS | LIQUID },
    { "read", "reads", "read", "lire", SIX("lis", "lis", "lit", "lisons", "lisez", "lisent"), "lu", "lir", PERSON,
      TEXT },
    { "write", "writes", "written", "écrire", SIX("écris", "écris", "écrit", "écrivons", "écrivez", "écrivent"),
      "écrit", "écrir", PERSON, TEXT },
    { "eat", "eats", "eaten", "manger", SIX("mange", "manges", "mange", "mangeons", "mangez", "mangent"), "mangé",
      "manger", ALIVE, EDIBLE | MASS },
    { "drink", "drinks", "drunk", "boire", SIX("bois", "bois", "boit", "buvons", "buvez", "boivent"), "bu", "boir",
      ALIVE, LIQUID },
    { "lose", "loses", "lost", "perdre", RE("perd"), PERSON, OBJECT },
    { "keep", "keeps", "kept", "garder", ER("gard"), PERSON, OBJECT },
    { "hide", "hides", "hidden", "cacher", ER("cach"), PERSON, OBJECT | ANIMAL },
    { "break", "breaks", "broken", "casser", ER("cass"), PERSON, THING | LOCKED },
    { "paint", "paints", "painted", "peindre", SIX("peins", "peins", "peint", "peignons", "peignez", "peignent"),
      "peint", "peindr", PERSON, ANY },
    { "have", "has", "had", "avoir", SIX("ai", "as", "a", "avons", "avez", "ont"), "eu", "aur", PERSON,
      OBJECT | ANIMAL },
    { "steal", "steals", "stolen", "voler", ER("vol"), PERSON, OBJECT | ANIMAL },
};
const int demo_transitive_count = COUNT(demo_transitive);

/* ditransitive: give something to a person */
const demo_verb demo_giving[] = {
    { "give", "gives", "given", "donner", ER("donn"), PERSON, OBJECT | ANIMAL | MASS | LIQUID },
    { "show", "shows", "shown", "montrer", ER("montr"), PERSON, OBJECT | PLACE | ANIMAL },
    { "send", "sends", "sent", "envoyer", SIX("envoie", "envoies", "envoie", "envoyons", "envoyez", "envoient"),
      "envoyé", "enverr", PERSON, OBJECT },
    { "sell", "sells", "sold", "vendre", RE("vend"), PERSON, OBJECT | ANIMAL | PLACE | MASS | LIQUID },
    { "bring", "brings", "brought", "apporter", ER("apport"), PERSON, OBJECT | MASS | LIQUID },
};
const int demo_giving_count = COUNT(demo_giving);

/* objects: classes of the places they require */
const demo_verb demo_intransitive[] = {
    { "sleep", "sleeps", "slept", "dormir", SIX("dors", "dors", "dort", "dormons", "dormez", "dorment"), "dormi",
      "dormir", ALIVE, 0 },
    { "work", "works", "worked", "travailler", ER("travaill"), PERSON, 0 },
    { "sing", "sings", "sung", "chanter", ER("chant"), ALIVE, 0 },
    { "dance", "dances", "danced", "danser", ER("dans"), ALIVE, 0 },
    { "swim", "swims", "swum", "nager", SIX("nage", "nages", "nage", "nageons", "nagez", "nagent"), "nagé", "nager",
      ALIVE, 0 },
    { "run", "runs", "run", "courir", SIX("cours", "cours", "court", "courons", "courez", "courent"), "couru", "courr",
      ALIVE, 0 },
    { "live", "lives", "lived", "habiter", ER("habit"), ALIVE, PLACE },
    { "wait", "waits", "waited", "attendre", RE("attend"), ALIVE, 0 },
    { "play", "plays", "played", "jouer", ER("jou"), ALIVE, 0 },
    { "speak", "speaks", "spoken", "parler", ER("parl"), PERSON, 0 },
};
const int demo_intransitive_count = COUNT(demo_intransitive);

const demo_verb demo_moving[] = {
    { "go", "goes", "gone", "aller", SIX("vais", "vas", "va", "allons", "allez", "vont"), NULL, "ir", ALIVE, 0 },
    { "come", "comes", "come", "venir", SIX("viens", "viens", "vient", "venons", "venez", "viennent"), NULL, "viendr",
      ALIVE, 0 },
    { "arrive", "arrives", "arrived", "arriver", ER_BE("arriv"), ALIVE, 0 },
};
const int demo_moving_count = COUNT(demo_moving);

const demo_verb demo_saying[] = {
    { "think", "thinks", "thought", "penser", ER("pens"), PERSON, 0 },
    { "know", "knows", "known", "savoir", SIX("sais", "sais", "sait", "savons", "savez", "savent"), "su", "saur",
      PERSON, 0 },
    { "say", "says", "said", "dire", SIX("dis", "dis", "dit", "disons", "dites", "disent"), "dit", "dir", PERSON, 0 },
    { "hope", "hopes", "hoped", "espérer", SIX("espère", "espères", "espère", "espérons", "espérez", "espèrent"),
      "espéré", "espérer", PERSON, 0 },
};
const int demo_saying_count = COUNT(demo_saying);

/* The first takes "to" and "do"; the others are auxiliaries. */
const demo_verb demo_modals[] = {
    { "want", "wants", "wanted", "vouloir", SIX("veux", "veux", "veut", "voulons", "voulez", "veulent"), "voulu",
      "voudr", ALIVE, 0 },
    { "can", "can", NULL, "pouvoir", SIX("peux", "peux", "peut", "pouvons", "pouvez", "peuvent"), "pu", "pourr", ALIVE,
      0 },
    { "must", "must", NULL, "devoir", SIX("dois", "dois", "doit", "devons", "devez", "doivent"), "dû", "devr", ALIVE,
      0 },
};
const int demo_modal_count = COUNT(demo_modals);

const demo_verb demo_be = { "be",  "is",  "been", "être", SIX("suis", "es", "est", "sommes", "êtes", "sont"),
                            "été", "ser", ANY,    0 };
const demo_verb demo_have = { "have", "has", "had", "avoir", SIX("ai", "as", "a", "avons", "avez", "ont"),
                              "eu",   "aur", ANY,   0 };

/* ---- function words ---- */

const demo_name demo_names[] = {
    { "Paul", false },    { "Pierre", false }, { "Luc", false },  { "Arthur", false },
    { "Olivier", false }, { "Jules", false },  { "Marie", true }, { "Anne", true },
    { "Claire", true },   { "Alice", true },   { "Emma", true },  { "Julie", true },
};
const int demo_name_count = COUNT(demo_names);

const demo_word demo_places[] = {
    { "in", "dans" },
    { "behind", "derrière" },
    { "near", "près" },
    { "before", "devant" },
};
const int demo_place_count = COUNT(demo_places);

const demo_word demo_numbers[] = { { "two", "deux" },  { "three", "trois" }, { "four", "quatre" },
                                   { "five", "cinq" }, { "six", "six" },     { "ten", "dix" } };
const int demo_number_count = COUNT(demo_numbers);

const demo_word demo_adverbs[] = { { "often", "souvent" }, { "always", "toujours" }, { "sometimes", "parfois" } };
const int demo_adverb_count = COUNT(demo_adverbs);

/* The last is used with the future, the one before it without a place. */
const demo_word demo_times[] = {
    { "today", "aujourd'hui" }, { "now", "maintenant" }, { "here", "ici" }, { "tomorrow", "demain" }
};
const int demo_time_count = COUNT(demo_times);

bool demo_vowel(const char *french)
{
    static const char *const vowels[] = { "a", "e", "i", "o", "u", "h", "A", "E", "I", "O",
                                          "U", "H", "à", "â", "é", "è", "ê", "î", "ô", "œ" };
    for (int i = 0; i < COUNT(vowels); i++)
        if (strncmp(french, vowels[i], strlen(vowels[i])) == 0) return true;
    return false;
}
