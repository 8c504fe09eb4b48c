/** A word at the start; not a name such as `example.com/SetLabels`, whose spelling matters. */
const FIRST_WORD = /^\p{Ll}[\p{L}'’-]*(?=[\s,:;!?…]|\.?$|\.\s)/u;

/** Returns a message as a sentence, with a capital letter and a period. */
export function sentence(text: string): string {
  const whole = /[.!?…]$/.test(text) ? text : `${text}.`;
  return whole.replace(FIRST_WORD, (word) => word.slice(0, 1).toUpperCase() + word.slice(1));
}
