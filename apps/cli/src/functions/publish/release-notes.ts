import { isUtf8 } from 'node:buffer';
import { PUBLISH_LIMITS } from '@krmhub/catalog';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { canonicalRelease, KrmhubError } from '@krmhub/schema';
import type { Io } from '../../io/io.js';

/** A heading of a changelog that names a release: `## [1.2.0] - 2030-01-02`, `## 1.2.0`, or `### v1.2.0`. */
const HEADING = /^(#{1,6})[ \t]+\[?(v?\d+(?:\.\d+){1,2}(?:-[0-9A-Za-z.-]+)?)\]?(?![\w.])/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Changelogs of many years have some hundred kilobytes. */
const MAX_CHANGELOG_BYTES = 4_194_304;

/** Reads the notes of a release from a file. Rejects as `releaseNotes`, and if the file is large or no text. */
export async function readNotes(io: Io, file: string, release: string): Promise<string> {
  const bytes = await readFileUpTo(io, file, MAX_CHANGELOG_BYTES);
  if (bytes.byteLength > MAX_CHANGELOG_BYTES)
    throw new KrmhubError('too-large', `${file} exceeds ${MAX_CHANGELOG_BYTES} bytes`);
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new KrmhubError('usage', `${file} is not UTF-8 text`, { hint: 'Save it as UTF-8 text.' });
  return releaseNotes(new TextDecoder().decode(bytes), release, file);
}

/**
 * Returns the notes of a release from a file: its section, if the file is a changelog with sections of releases, else
 * the whole text. Throws `usage` for a changelog without the section, for an empty text, and for one that is too long.
 */
export function releaseNotes(text: string, release: string, file: string): string {
  const sections = readSections(text);
  const found = sections.find((section) => section.release === release);
  if (sections.length > 0 && found === undefined) {
    const names = sections.slice(0, 3).map((section) => section.release);
    throw new KrmhubError('usage', `${file} has no section for release ${release}`, {
      hint: `Add a heading such as "## ${release}". It has sections for ${names.join(', ')}${sections.length > 3 ? ', …' : ''}.`,
    });
  }
  const notes = (found?.text ?? text).trim();
  if (notes === '') {
    throw new KrmhubError('usage', `the notes of release ${release} in ${file} are empty`, {
      hint: 'Describe what is new, or publish without --notes.',
    });
  }
  if (Buffer.byteLength(notes) > PUBLISH_LIMITS.maxNotesBytes) {
    throw new KrmhubError('too-large', `the notes in ${file} exceed ${PUBLISH_LIMITS.maxNotesBytes} bytes`, {
      hint: 'Shorten the notes, or replace content with links.',
    });
  }
  return notes;
}

/** Returns the sections of releases. A section ends at the next heading of its level or above. */
function readSections(text: string): { release: string; text: string }[] {
  const sections: { release: string; level: number; lines: string[] }[] = [];
  let fence: string | undefined;
  let open: (typeof sections)[number] | undefined;
  for (const line of text.split(/\r?\n/)) {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence) === true) fence = undefined;
    const level = fence === undefined ? /^(#{1,6})[ \t]/.exec(line)?.[1]?.length : undefined;
    if (open !== undefined && level !== undefined && level <= open.level) open = undefined;
    const named = level === undefined ? undefined : HEADING.exec(line)?.[2];
    const release = named === undefined ? undefined : canonicalRelease(named);
    if (open === undefined && release !== undefined && level !== undefined) {
      open = { release, level, lines: [] };
      sections.push(open);
    } else {
      open?.lines.push(line);
    }
  }
  return sections.map(({ release, lines }) => ({ release, text: lines.join('\n') }));
}
