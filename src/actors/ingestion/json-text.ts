// JsonText: JSON as text with lines to cite. What is written on few lines is laid out; what is laid out, or is no JSON after
// all, stays as it is.

/** Longer than anybody writes by hand. */
const LINE_CHARS_TYPICAL_MAX = 400;

export function jsonText(text: string): string {
  const lines = text.split('\n', 1_000).length;
  if (text.length / lines <= LINE_CHARS_TYPICAL_MAX) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
