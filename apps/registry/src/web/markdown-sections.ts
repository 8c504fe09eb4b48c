const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;

/**
 * Splits Markdown into sections of at most about `maxLength` UTF-16 code units, because the time to render some texts
 * grows with the square of their length. A section ends before a heading, or else at a blank line, or else at any line.
 * Code in a fence continues in the next section.
 */
export function splitSections(text: string, maxLength: number): string[] {
  if (text.length <= maxLength) return [text];
  const sections: string[] = [];
  let section = '';
  /** Where the section should end: before its last heading, or after its last blank line. */
  let heading = 0;
  let blank = 0;
  /** The opening line of the current fence. */
  let fence: string | undefined;
  const end = (at: number) => {
    const isOpen = fence !== undefined && at === section.length;
    const rest = section.slice(at);
    sections.push(isOpen ? `${section}${marker(fence!)}\n` : section.slice(0, at));
    section = isOpen ? `${fence}\n` : rest;
    heading = 0;
    blank = 0;
  };
  for (const line of text.split('\n')) {
    const piece = `${line.slice(0, maxLength)}\n`;
    if (section !== '' && section.length + piece.length > maxLength) {
      end(heading > 0 ? heading : blank > 0 ? blank : section.length);
    }
    if (fence === undefined && HEADING.test(line)) heading = section.length;
    section += piece;
    const opened = FENCE.exec(line);
    if (fence === undefined) {
      if (opened !== null) fence = line.slice(0, 200);
      else if (line.trim() === '') blank = section.length;
    } else if (opened !== null && closes(opened[1]!, fence)) fence = undefined;
  }
  if (section !== '') sections.push(section);
  return sections;
}

function marker(fence: string): string {
  return FENCE.exec(fence)?.[1] ?? '```';
}

/** A closing fence is at least as long as the opening one (CommonMark 0.31, 4.5). */
function closes(given: string, fence: string): boolean {
  const opened = marker(fence);
  return given[0] === opened[0] && given.length >= opened.length;
}
