/** Changes of a text that leave everything else as it is. Offsets count UTF-16 code units. */
export interface TextEdit {
  start: number;
  end: number;
  text: string;
}

/** Applies edits that do not overlap, in the order of their start. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  let result = '';
  let from = 0;
  for (const edit of edits) {
    result += text.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return result + text.slice(from);
}

/** Unchanged lines around a change. */
const CONTEXT_LINES = 3;

/** Lines of the old text that edits change, and their edits. */
interface Region {
  /** Counted from 0; the last one is included. */
  first: number;
  last: number;
  edits: TextEdit[];
}

/** Returns the edits as a unified diff, which `patch` and `git apply` read; empty without edits. */
export function unifiedDiff(file: string, text: string, edits: readonly TextEdit[]): string {
  if (edits.length === 0) return '';
  const starts = lineStarts(text);
  const lines = starts.map((start, at) => text.slice(start, starts[at + 1] ?? text.length));
  const hunks: Region[][] = [];
  for (const region of changedRegions(starts, edits)) {
    const hunk = hunks.at(-1);
    const previous = hunk?.at(-1);
    if (previous !== undefined && region.first - previous.last - 1 <= 2 * CONTEXT_LINES) hunk!.push(region);
    else hunks.push([region]);
  }
  let shift = 0;
  let diff = `--- a/${file}\n+++ b/${file}\n`;
  for (const regions of hunks) {
    const from = Math.max(regions[0]!.first - CONTEXT_LINES, 0);
    const to = Math.min(regions.at(-1)!.last + CONTEXT_LINES, lines.length - 1);
    const body: string[] = [];
    let added = 0;
    let next = from;
    for (const { first, last, edits: own } of regions) {
      body.push(...lines.slice(next, first).map((line) => diffLine(' ', line)));
      body.push(...lines.slice(first, last + 1).map((line) => diffLine('-', line)));
      const start = starts[first]!;
      const old = text.slice(start, starts[last + 1] ?? text.length);
      const moved = own.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start }));
      const changed = applyEdits(old, moved);
      const changedLines = splitLines(changed);
      body.push(...changedLines.map((line) => diffLine('+', line)));
      added += changedLines.length - (last - first + 1);
      next = last + 1;
    }
    body.push(...lines.slice(next, to + 1).map((line) => diffLine(' ', line)));
    const count = to - from + 1;
    diff += `@@ -${from + 1},${count} +${from + 1 + shift},${count + added} @@\n${body.join('')}`;
    shift += added;
  }
  return diff;
}

function changedRegions(starts: readonly number[], edits: readonly TextEdit[]): Region[] {
  const regions: Region[] = [];
  for (const edit of edits) {
    const first = lineAt(starts, edit.start);
    const last = lineAt(starts, Math.max(edit.start, edit.end - 1));
    const previous = regions.at(-1);
    if (previous !== undefined && first <= previous.last + 1) {
      previous.last = Math.max(previous.last, last);
      previous.edits.push(edit);
    } else regions.push({ first, last, edits: [edit] });
  }
  return regions;
}

function lineAt(starts: readonly number[], offset: number): number {
  const after = starts.findIndex((start) => start > offset);
  return (after === -1 ? starts.length : after) - 1;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1 && at + 1 < text.length; at = text.indexOf('\n', at + 1))
    starts.push(at + 1);
  return starts;
}

function splitLines(text: string): string[] {
  if (text === '') return [];
  const starts = lineStarts(text);
  return starts.map((start, at) => text.slice(start, starts[at + 1] ?? text.length));
}

function diffLine(sign: ' ' | '-' | '+', line: string): string {
  return line.endsWith('\n') ? `${sign}${line}` : `${sign}${line}\n\\ No newline at end of file\n`;
}
