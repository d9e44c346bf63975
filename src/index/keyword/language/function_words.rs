//! The words that hold sentences together: articles, pronouns, prepositions, auxiliaries. They tell the
//! language of a text, and nothing of what is asked in it.
//!
//! In lower case and without accents, as analysis leaves words before they are stemmed.

pub(super) const ARABIC: &str = "في من على إلى عن مع هذا هذه ذلك التي الذي ما لا أن إن كان كانت هو هي \
    كل بعد قبل بين أو ثم قد لم لن حتى عند غير منذ كما";

pub(super) const DANISH: &str = "og i jeg det at en den til er som pa de med han af for ikke der var mig \
    sig men et har om vi min havde ham hun nu over da fra du ud sin dem os op man hans hvor eller hvad skal \
    selv her alle vil blev kunne ind nar vaere kan efter hvordan hvem hvis fordi disse denne dette";

pub(super) const DUTCH: &str = "de en van ik te dat die in een hij het niet zijn is was op aan met als voor \
    had er maar om hem dan zou of wat mijn men dit zo door over ze zich bij ook tot je mij uit der daar haar \
    naar heb hoe heeft hebben deze u want nog zal me zij nu geen omdat iets worden wordt waar wie welke \
    kan kunnen moet";

/// The list that queries in English are freed of is the longest: questions are asked in full there.
pub(super) const ENGLISH: &str = "a about an and are as at be been but by can could did do does for from had \
    has have how i if in into is it its me my no not of on or our should so such than that the their them \
    then there these they this to was we were what when where which who why will with would you your";

pub(super) const FINNISH: &str = "ja on ei se etta en han oli mutta kuin myos ole joka niin nyt kun mika \
    mita olen ovat tai jos sen ne tama taman voi vain kanssa hanen sita mukaan niiden ollut jotka minka \
    miten missa mutta koska siita siina kuten eika olla";

pub(super) const FRENCH: &str = "au aux avec ce ces dans de des du elle en et eux il ils je la le les leur \
    leurs lui ma mais me mes moi mon ne nos notre nous on ou par pas pour qu que qui sa se ses son \
    sur ta te tes toi ton tu un une vos votre vous est sont ete etre ont avoir cette \
    cet comme quel quelle quels quelles comment pourquoi quand dont si plus";

pub(super) const GERMAN: &str = "aber als am an auch auf aus bei bin bis das dass da dem den der des dich die \
    dies diese diesem diesen dieser dieses dir doch du durch ein eine einem einen einer eines er es euch \
    fur hat hatte haben ich ihm ihn ihr ihre im in ist ja kann man mein mich mir mit muss nach nicht noch \
    nun nur ob oder ohne sein seine sich sie sind so soll uber um und uns unter vom von vor war was wenn \
    wer werden wie wieso warum welche welcher welches wird wo wir wurde zu zum zur zwischen";

pub(super) const GREEK: &str = "και το να του η της με που την από για είναι στο τα τον των ο στη δεν οι στην \
    τις θα σε ένα μια αυτό πως πώς τι αλλά ως κατά μετά ή όπως αν";

pub(super) const HUNGARIAN: &str = "a az es hogy nem is egy ez meg de ha csak volt van mint mar azt ezt vagy \
    el ki meg mert minden ami aki amely lesz itt ott be fel le sem igen hogyan milyen melyik miert mi \
    ezek azok nincs kell";

pub(super) const ITALIAN: &str = "il lo la i gli le un uno una di a da in con su per tra fra del dello della \
    dei degli delle al allo alla ai agli alle dal dalla dai nel nella nei nelle sul sulla e ed o ma se non \
    che chi cui come dove quando perche quale quali questo questa questi queste quello quella si ci mi ti \
    vi ne sono sei siamo ha hanno ho era essere stato anche piu";

pub(super) const NORWEGIAN: &str = "og i jeg det at en et den til er som pa de med han av ikke der sa var \
    meg seg men ett har om vi min mitt ha hadde hun na over da ved fra du ut sin dem oss opp man kan hans \
    hvor eller hva skal selv her alle vil bli ble blitt kunne inn nar vaere etter hvordan hvem hvis fordi \
    disse denne dette noen";

pub(super) const PORTUGUESE: &str = "de a o que e do da em um para com nao uma os no se na por mais as dos \
    como mas ao ele das seu sua ou quando muito nos ja eu tambem so pelo pela ate isso ela entre depois \
    sem mesmo aos seus quem nas me esse eles voce foi tem ser sao qual quais onde porque este esta nem";

pub(super) const ROMANIAN: &str = "si in de la cu pe din un o este sunt a al ai ale pentru ca nu se sa mai \
    dar care ce cum cand unde sau prin dupa intre despre fost fi era am ati au cel cea cei cele acest \
    aceasta acesti aceste lui ei lor isi daca fara catre";

pub(super) const RUSSIAN: &str = "и в во не что он на я с со как а то все она так его но да ты к у же вы за \
    бы по только ее мне было вот от меня еще нет о из ему теперь когда даже ну ли если уже или ни быть был \
    него до вас нибудь опять уж вам ведь там потом себя ничего ей может они тут где есть надо ней для мы \
    тебя их чем была сам чтоб без будто чего раз тоже себе под будет тогда кто этот того потому этого какой \
    этом это при";

pub(super) const SPANISH: &str = "de la que el en y a los del se las por un para con no una su al lo como \
    mas pero sus le ya o este si porque esta entre cuando muy sin sobre tambien me hasta hay donde quien \
    desde todo nos durante uno les ni contra otros ese eso ante ellos e esto mi antes algunos unos yo otro \
    es son fue ser ha cual cuales puede";

pub(super) const SWEDISH: &str = "och det att i en jag hon som han pa den med var sig for sa till ar men ett \
    om hade de av icke mig du henne da sin nu har inte hans honom skulle hennes dar min man ej vid kunde \
    nagot fran ut nar efter upp vi dem vara vad over an dig kan sina har ha mot alla under nagon eller allt \
    mycket sedan denna detta hur vilka vilken vilket varfor";

pub(super) const TAMIL: &str = "ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த \
    இவர் என முதல் என்ன இருந்து சில என் போன்ற வேண்டும் வந்து இதன் அது அவன்";

pub(super) const TURKISH: &str = "ve bir bu da de icin ile ne mi cok ama gibi o daha en her kadar olarak olan \
    var ya sonra ise ki degil hem veya nasil neden hangi kim nerede ben sen biz siz onlar sey tum diye";
