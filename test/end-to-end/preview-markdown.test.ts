import MarkdownIt, { type Token } from 'markdown-it';
import { describe, expect, it } from 'vitest';
import type { ManifestChange } from '../../apps/cli/src/preview/manifests.js';
import { MARKDOWN_LIMITS, markdownPreview } from '../../apps/cli/src/preview/preview-markdown.js';
import type { PreviewReport } from '../../apps/cli/src/preview/preview-report.js';
import { Random } from '../../packages/yaml/src/testing/random.js';

/**
 * A pull request shows what a package, its functions, and catalogs contain. None of that may be more than text in code:
 * no HTML, link, mention, image, or heading, and no end of a fence.
 */

const PIECES = [
  ...[
    '```',
    '````',
    '`````diff',
    '~~~',
    '`',
    '``',
    '<script>alert(1)</script>',
    '</details>',
    '</summary>',
    '-->',
  ],
  ...[
    '<!--',
    '@someone',
    '#1',
    'GH-1',
    '![x](https://evil.example/x)',
    '[x](javascript:alert(1))',
    '|',
    '\\',
    '\\|',
  ],
  ...[
    '# heading',
    '- item',
    '> quote',
    '\u001b[31m',
    '\u202e',
    '\u0000',
    '\r',
    '\n',
    '\n\n',
    '\t',
    '&lt;',
    '&#64;x',
  ],
  ...[
    'https://evil.example',
    'a',
    ' ',
    '    ',
    '---',
    '\u2028',
    '*b*',
    '_c_',
    '<https://evil.example>',
    '"',
    "'",
  ],
];
/** Only this is in the texts of others. */
const FOREIGN = /evil|someone|alert|heading|GH-1|quote/;

function randomReport(random: Random, count: number, lines: number): PreviewReport {
  const text = (max = 6) => Array.from({ length: 1 + random.below(max) }, () => random.pick(PIECES)).join('');
  const diff = () =>
    Array.from(
      { length: 1 + random.below(lines) },
      () => random.pick(['+', '-', ' ', '@@ ', '']) + text(4).replaceAll('\n', ' '),
    );
  const identity = () => ({
    command: 'build' as const,
    apiVersion: text(),
    kind: text(),
    namespace: text(),
    name: text(),
  });
  const change = (): ManifestChange => ({
    type: random.pick(['added', 'removed', 'changed']),
    ...identity(),
    diff: diff(),
  });
  const failure = () => ({ command: text(), exitCode: 1, message: text(20), hint: text() });
  return {
    file: text(),
    path: text(),
    isChanged: true,
    title: text(),
    command: text(),
    functions: Array.from({ length: random.below(4) }, () => ({
      ...{
        type: 'changed' as const,
        apiVersion: text(),
        kind: text(),
        catalog: text(),
        before: text(),
        after: text(),
      },
      changes: [
        {
          group: text(),
          kind: text(),
          class: 'upgraded' as const,
          weight: 'breaking' as const,
          message: text(9),
        },
      ],
      isPartial: random.chance(0.5),
      signedBy: { before: text(), after: text() },
      builtFrom: { after: text() },
      permissions: { before: text(), after: text() },
    })),
    imageChanges: [{ type: 'changed', image: text(), before: text(), after: text(), beforeTag: text() }],
    manifests: {
      changes: Array.from({ length: count }, change),
      unstable: [{ ...identity(), fields: [text()] }],
      ...{ before: count, after: count, isReordered: false },
    },
    results: {
      appeared: [
        {
          function: text(),
          message: text(9),
          resourceRef: { kind: text(), name: text() },
          field: { path: text() },
        },
      ],
      disappeared: [{ function: text(), message: text(9) }],
    },
    notDeterministic: [text()],
    warnings: [{ text: text(9), lock: random.pick(['both', 'before', 'after']) }],
    rejected: Array.from({ length: random.below(3) }, () => ({
      ...{ apiVersion: text(), kind: text(), before: text(), after: text(), place: text() },
      ...{ message: text(9), hint: text() },
    })),
    failures: random.chance(0.3) ? { after: failure(), before: failure() } : {},
  };
}

const parser = new MarkdownIt({ html: true, linkify: true });

function expectInert(markdown: string): void {
  const visit = (token: Token) => {
    if (token.type === 'code_inline' || token.type === 'fence') return;
    expect(token.type).not.toMatch(/^(?:link_open|image|html_inline|code_block|blockquote_open|hr)$/);
    if (token.type === 'html_block') {
      // Ours: a name in it is escaped.
      const known =
        /^(?:<\/details>|<details><summary>(?:added|removed|changed) <code>[^<>@#]*<\/code>[^<]*<\/summary>)$/;
      expect(token.content.replace(/&#\d+;/g, '').trim()).toMatch(known);
      return;
    }
    for (const child of token.children ?? []) visit(child);
    if (token.children === null || token.children.length === 0) expect(token.content).not.toMatch(FOREIGN);
    else if (token.type === 'text') expect(token.content).not.toMatch(FOREIGN);
  };
  for (const token of parser.parse(markdown, {})) visit(token);
  for (const token of parser.parse(markdown, {}).flatMap(({ children }) => children ?? []))
    if (token.type === 'text') expect(token.content).not.toMatch(FOREIGN);
  expect(markdown).not.toMatch(
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029]/,
  );
  expect(markdown.split('\n')[0]).toMatch(/^# \S/);
}

describe('a preview as Markdown', () => {
  it('has all text of others in code, whatever that is', () => {
    const random = new Random(11);
    for (let round = 0; round < 300; round++)
      expectInert(markdownPreview(randomReport(random, random.below(4), 12)));
  });

  it('is folded and cut where it would be too long, says what is left out, and stays inert', () => {
    const random = new Random(12);
    let cuts = 0;
    for (let round = 0; round < 25; round++) {
      const report = randomReport(random, 1 + random.below(200), 400);
      const markdown = markdownPreview(report);
      expect(markdown.length).toBeLessThanOrEqual(MARKDOWN_LIMITS.max);
      expectInert(markdown);
      if (!markdown.includes('<details>')) continue;
      const [, count] = /\*\*(\d+) of (\d+) diffs? (?:is|are) cut or left out/.exec(markdown) ?? [];
      const whole = report.manifests.changes.filter(({ diff }) => diff.length > 0).length;
      const shown = markdown.match(/^<details>/gm)?.length ?? 0;
      const cut = markdown.match(/^\d+ more lines? left out here\.$/gm)?.length ?? 0;
      if (count !== undefined) cuts++;
      expect(Number(count ?? 0)).toBeGreaterThanOrEqual(whole - shown);
      expect(Number(count ?? 0)).toBeLessThanOrEqual(whole - shown + cut);
    }
    expect(cuts).toBeGreaterThan(5);
  });

  it('shows a small preview whole, and a line longer than a pull request not at all', () => {
    const report = randomReport(new Random(1), 0, 1);
    const change = {
      type: 'changed',
      command: 'build',
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'a',
    } as const;
    const with_ = (diff: string[]) =>
      markdownPreview({ ...report, manifests: { ...report.manifests, changes: [{ ...change, diff }] } });
    expect(with_(['-a', '+b'])).toContain('```diff\n-a\n+b\n```');
    const long = with_([`+${'x'.repeat(100_000)}`]);
    expect(long.length).toBeLessThanOrEqual(MARKDOWN_LIMITS.max);
    expect(long).toMatch(/1 of 1 diff is cut or left out here/);
  });
});
