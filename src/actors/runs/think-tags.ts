// Think tags: splits a model's text into what it thought and what it answered.
// Recognised: <think>, <thinking>, [think], [thinking], <internal_monologue>. A tag that is never closed counts to the end.

export interface SplitText {
  readonly answer: string;
  readonly thinking: string;
  /** Closes the thought in which the text stops; empty when it stops in none. */
  readonly closing: string;
}

const OPENING = /<(think|thinking|internal_monologue)>|\[(think|thinking)\]/gi;

export function splitThinking(text: string): SplitText {
  let answer = '';
  const thoughts: string[] = [];
  let unclosed = '';
  let from = 0;
  OPENING.lastIndex = 0;
  for (let open = OPENING.exec(text); open !== null; open = OPENING.exec(text)) {
    answer += text.slice(from, open.index);
    const inside = open.index + open[0].length;
    const closing = open[1] === undefined ? `[/${open[2]}]` : `</${open[1]}>`;
    const end = indexOfIgnoringCase(text, closing, inside);
    thoughts.push(text.slice(inside, end < 0 ? text.length : end).trim());
    from = end < 0 ? text.length : end + closing.length;
    if (end < 0) unclosed = closing;
    OPENING.lastIndex = from;
  }
  answer += text.slice(from);
  const thinking = thoughts.filter((thought) => thought !== '').join('\n\n');
  return { answer: answer.trim(), thinking, closing: unclosed };
}

/** No lower-cased copy of the whole text: lower-casing may change its length. */
function indexOfIgnoringCase(text: string, tag: string, from: number): number {
  const wanted = tag.toLowerCase();
  for (let at = text.indexOf(tag.charAt(0), from); at >= 0; at = text.indexOf(tag.charAt(0), at + 1)) {
    if (text.slice(at, at + tag.length).toLowerCase() === wanted) return at;
  }
  return -1;
}
