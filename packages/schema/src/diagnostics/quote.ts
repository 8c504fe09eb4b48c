/** Quotes and shortens text of a document for messages. */
export function quote(text: string): string {
  return `"${text.length > 80 ? `${text.slice(0, 79)}…` : text}"`;
}
