/** Returns a message as a sentence, with a capital letter and a period. */
export function sentence(text: string): string {
  const whole = /[.!?…]$/.test(text) ? text : `${text}.`;
  return whole.slice(0, 1).toUpperCase() + whole.slice(1);
}
