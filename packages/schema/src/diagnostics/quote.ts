import { hideBeginning } from './hide-passwords.js';

/** Quotes and shortens text of a document for messages. Hides passwords, which may be cut in two. */
export function quote(text: string): string {
  const shown = hideBeginning(text);
  return `"${shown.length > 80 ? `${shown.slice(0, 79)}…` : shown}"`;
}
