import { expect, it } from 'vitest';
import { releaseNotes } from './release-notes.js';

const CHANGELOG = `# Changelog

## Unreleased

- Later.

## [1.2.0] - 2030-01-02

- Adds **labels**.

### Fixed

\`\`\`md
## 1.1.0
\`\`\`

## v1.1.0
Old.
## 1.0.0-rc.1
First.
`;

it.each([
  ['1.2.0', '- Adds **labels**.\n\n### Fixed\n\n```md\n## 1.1.0\n```'],
  ['1.1.0', 'Old.'],
  ['1.0.0-rc.1', 'First.'],
])('reads the section of release %s', (release, notes) => {
  expect(releaseNotes(CHANGELOG, release, 'CHANGELOG.md')).toBe(notes);
  expect(releaseNotes(CHANGELOG.replaceAll('\n', '\r\n'), release, 'CHANGELOG.md')).toBe(notes);
});

it('takes a file without sections of releases whole', () => {
  expect(releaseNotes('\n# News\n\nMore 1.2.0.\n', '1.2.0', 'n.md')).toBe('# News\n\nMore 1.2.0.');
});

it.each([
  [CHANGELOG, 'CHANGELOG.md has no section for release 9.0.0'],
  ['## 9.0.0\n\n## 8.0.0\nx', 'the notes of release 9.0.0 in CHANGELOG.md are empty'],
  ['x'.repeat(70_000), 'the notes in CHANGELOG.md exceed 65536 bytes'],
])('rejects what publishes nothing sensible (%#)', (text, message) => {
  expect(() => releaseNotes(text, '9.0.0', 'CHANGELOG.md')).toThrow(message);
});
