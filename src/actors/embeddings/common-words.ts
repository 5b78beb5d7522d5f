// CommonWords: words that are in almost every text of their language, and so say little of what it is about. In the form that
// the tokenizer gives: small letters, no accents.

const WORDS = [
  // English
  'a about after all also an and any are as at be because been but by can could did do does for from get had has have he her',
  'his how i if in into is it its just like me more most my no not of on one only or other our out over she should so some',
  'such than that the their them then there these they this those to too up us very was we were what when where which while',
  'who why will with would you your',
  // German
  'aber alle als am auch auf aus bei bin bis da das dass dem den der des die dies diese dir du durch ein eine einem einen',
  'einer eines er es fur hat ich ihr im ist ja kann mein mich mir mit nach nicht noch nur oder sein sich sie sind so uber um',
  'und uns von vor war was wenn wer wie wir wird zu zum zur',
  // French
  'au aux avec ce ces cette comme dans de des elle en est et etre eux il ils je la le les leur lui mais meme mon ne nous ou',
  'par pas pour plus qu que qui sa se ses son sur ta te tu un une vous',
  // Spanish, Italian, Portuguese
  'al como con cuando del desde el ella entre era esta este esto ha hay lo los las mas mi muy nos otra otro para pero por',
  'porque se ser si sin sobre su sus tambien tiene todo una uno y che di da dal della delle dei e gli ho il io non per piu',
  'questo sono tra ao como com da das do dos em foi isso mas na nas nem no nos num ou pela pelo seu sua tem uma voce',
  // Dutch, Polish, Russian
  'aan bij dat deze dit een en haar het hij ik in je maar met naar niet nog of ook om op te uit van voor wat we wel wij ze zij',
  'zijn ale co czy dla jak jest juz lub nie oraz po pod przez sie tak to tym w z za ze',
  'а без бы был была было в во вот все вы да для до его ее если еще же за и из или их к как ко когда ли мне мы на не нет но',
  'о об он она они от по при с со так там то тот ты у уже что это этот я',
];

const COMMON: ReadonlySet<string> = new Set(WORDS.flatMap((line) => line.split(' ')));

export function isCommonWord(word: string): boolean {
  return COMMON.has(word);
}
