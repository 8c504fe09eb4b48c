import { describe, expect, it } from 'vitest';
import { MARKDOWN_LIMITS, renderMarkdown } from './markdown.js';

const html = (text: string): string => renderMarkdown(text).html.trim();
const REL = 'rel="nofollow noopener noreferrer"';

/** Tags and attributes that the output may contain, whatever the input. */
const ALLOWED =
  /^<(?:\/?(?:p|em|strong|s|ul|li|blockquote|table|thead|tbody|tr|h[3-6]|code|pre|div|a|th|td|ol|span)|\/figure|br|hr|ol start="\d+"|h[3-6] id="readme-[^"<>]*"|pre tabindex="0"|figure class="snippet" data-copy="Code"|span class="(?:word|code-(?:comment|string|keyword|number))"|span role="img" aria-label="(?:done|to do)"|li class="task"|div class="wide" tabindex="0"|t[hd] class="cell-(?:right|center)"|a class="anchor" href="#readme-[^"<>]*" aria-label="Link to [^"<>]*"|a href="(?:https?:\/\/|mailto:|#readme-)[^"<>]*"(?: class="external")? rel="nofollow noopener noreferrer")>$/;

function expectSafe(text: string): void {
  const tags = new Set(text.match(/<[^>]*>?/g));
  for (const tag of tags) expect(tag).toMatch(ALLOWED);
  expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\ufeff]/);
}

describe('renderMarkdown', () => {
  it('renders CommonMark with tables', () => {
    expect(html('Some *text* and **more** of `it`.\n\n1. one\n2. two')).toBe(
      '<p>Some <em>text</em> and <strong>more</strong> of <code>it</code>.</p>\n<ol>\n<li>one</li>\n<li>two</li>\n</ol>',
    );
    const fence = (code: string) =>
      `<figure class="snippet" data-copy="Code"><pre tabindex="0"><code>${code}\n</code></pre>\n</figure>`;
    expect(html('```\na: <b>\n```')).toBe(fence('a: &lt;b&gt;'));
    expect(html('```text\na: 1\n```')).toBe('<pre tabindex="0"><code>a: 1\n</code></pre>');
    expect(html('```yaml kpt\na: "<b>" # c\n```')).toBe(
      fence(
        '<span class="code-keyword">a</span>: <span class="code-string">&quot;&lt;b&gt;&quot;</span> <span class="code-comment"># c</span>',
      ),
    );
    expect(html('    code')).toBe('<pre tabindex="0"><code>code\n</code></pre>');
    const table = html('| a | b |\n|:-:|--:|\n| 1 | 2 |');
    expect(table).toContain('<div class="wide" tabindex="0"><table>');
    expect(table).toContain('<th class="cell-center">a</th>');
    expect(table).toContain('<td class="cell-right">2</td>');
    expect(table).not.toContain('style');
    expect(html('| | b |\n|---|---|\n| 1 | 2 |')).toMatch(/<tr>\s*<td><\/td>\s*<th>b<\/th>\s*<\/tr>/);
  });

  it('makes lists of tables with many columns, where their place asks for it', () => {
    const table = '| a | b | *c* | d |\n|---|---|--:|---|\n| 1 | 2 | 3 | |\n';
    const place = { headingShift: 0, idPrefix: '', hasLists: true };
    const listed = renderMarkdown(table, new Map(), place).html;
    expect(listed).toContain('<table class="stacked">');
    expect(listed.replaceAll('\n', '')).toContain(
      '<tr><td data-title="a">1</td><td data-title="b">2</td><td class="cell-right" data-title="c">3</td><td></td></tr>',
    );
    const untitled = renderMarkdown(table.replace('a', ' '), new Map(), place).html;
    expect(untitled).toContain('<td>1</td>\n<td data-title="b">2</td>');
    const three = table.replaceAll(/ [d-] ?\||---\|$/gm, '');
    for (const other of [renderMarkdown(three, new Map(), place), renderMarkdown(table)])
      expect(other.html).not.toMatch(/stacked|data-title/);
  });

  it('keeps words of code with hyphens whole', () => {
    expect(html('`resourceFileRegexp`')).toBe(
      '<p><code><span class="word">resource<wbr>File<wbr>Regexp</span></code></p>',
    );
    expect(html('`fn eval --dry-run <a-b>`')).toBe(
      '<p><code>fn eval <span class="word">--dry-run</span> <span class="word">&lt;a-b&gt;</span></code></p>',
    );
    expect(html(`\`${'a-'.repeat(20)}\``)).toBe(`<p><code>${'a-'.repeat(20)}</code></p>`);
  });

  it('shifts headings below those of the page, with unique IDs that links find', () => {
    expect(html('# One & *two*\n## One & *two*\n###### Deep\n[there](#one--two)')).toBe(
      [
        '<h3 id="readme-one--two">One &amp; <em>two</em><a class="anchor" href="#readme-one--two" aria-label="Link to One &amp; two"></a></h3>',
        '<h4 id="readme-one--two-1">One &amp; <em>two</em><a class="anchor" href="#readme-one--two-1" aria-label="Link to One &amp; two"></a></h4>',
        '<h6 id="readme-deep">Deep<a class="anchor" href="#readme-deep" aria-label="Link to Deep"></a></h6>',
        `<p><a href="#readme-one--two" ${REL}>there</a></p>`,
      ].join('\n'),
    );
  });

  it('renders task lists, and returns headings', () => {
    const done = '<li class="task"><span role="img" aria-label="done">☑</span> a</li>';
    const open = '<li class="task"><span role="img" aria-label="to do">☐</span> <em>b</em></li>';
    expect(html('- [x] a\n- [ ] *b*\n- [y] c\n- [x](https://example.com)')).toContain(
      `<ul>\n${done}\n${open}\n<li>[y] c</li>\n<li><a href=`,
    );
    expect(renderMarkdown('# A *b*\n\n## C\n').headings).toEqual([
      { id: 'readme-a-b', title: 'A b', level: 1 },
      { id: 'readme-c', title: 'C', level: 2 },
    ]);
  });

  it('links only to http, https and mailto', () => {
    expect(html('[a](https://example.com/x?a=1&b=2)')).toBe(
      `<p><a href="https://example.com/x?a=1&amp;b=2" class="external" ${REL}>a</a></p>`,
    );
    expect(html('<mailto:a@example.com>')).toContain('<a href="mailto:a@example.com"');
    expect(html('[docs](docs/read.md)')).toBe('<p>docs <code>docs/read.md</code></p>');
    expect(html('[*docs*](/functions "title")')).toBe('<p><em>docs</em> <code>/functions</code></p>');
    expect(html('https://example.com')).toBe('<p>https://example.com</p>');
  });

  it('shows images as links', () => {
    expect(html('![a *b*](https://example.com/i.png)')).toBe(
      `<p><a href="https://example.com/i.png" class="external" ${REL}>a b</a></p>`,
    );
    expect(html('![](https://example.com/i.png)')).toContain('>image</a>');
    expect(html('![a](i.png)')).toBe('<p>a <code>i.png</code></p>');
    expect(html('[![badge](https://example.com/b.svg)](https://example.com)')).toBe(
      `<p><a href="https://example.com/" class="external" ${REL}>badge</a></p>`,
    );
  });

  it('shows images that have a source, by their normalized path', () => {
    const sources = new Map([['images/a b.png', '/x?"<>']]);
    const shown = (text: string) => renderMarkdown(text, sources).html.trim();
    const image = '<img src="/x?&quot;&lt;&gt;" alt="a &quot;b&quot;" loading="lazy">';
    expect(shown('![a "b"](./images/a%20b.png?raw=true)')).toBe(`<p>${image}</p>`);
    expect(shown('[![a "b"](<images/a b.png>)](https://example.com)')).toContain(`${image}</a>`);
    expect(shown('![a](https://example.com/images/a%20b.png)')).not.toContain('<img');
    expect(shown('![a](../images/a%20b.png)')).not.toContain('<img');
    const { images } = renderMarkdown(
      '![a](a.png) ![b](./a.png) ![c](https://example.com/c.png)\n\n![d](d/d.gif)',
    );
    expect(images).toEqual(['a.png', 'd/d.gif']);
    expect(
      renderMarkdown(Array.from({ length: 99 }, (_, index) => `![](${index}.png)`).join('')).images,
    ).toHaveLength(50);
  });

  it('escapes HTML', () => {
    expect(html('<script>alert(1)</script>')).toBe('<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>');
    expect(html('a <img src=x onerror=alert(1)> b')).toBe('<p>a &lt;img src=x onerror=alert(1)&gt; b</p>');
    expect(html('&lt;script&gt;')).toBe('<p>&lt;script&gt;</p>');
  });

  it('shows hidden characters, also those of entities', () => {
    expect(html('a\u202eb\u0007c')).toBe('<p>a\ufffdb␇c</p>');
    expect(html('a&#x202e;b&#8203;c')).toBe('<p>a\ufffdb\ufffdc</p>');
    expect(html('[a\u202e](https://example.com/\u202e)')).not.toContain('\u202e');
    expect(html('`\u001b[31m`')).toBe('<p><code>␛[31m</code></p>');
  });

  const addresses = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java&#x0A;script:alert(1)',
    '&#106;avascript:alert(1)',
    'javascript&colon;alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://example.com/x',
    '//example.com/x',
    'http:example.com',
    'https:\\\\example.com',
    'http://',
    'https://example.com/"onmouseover="alert(1)',
    `https://example.com/'><script>`,
    '#"><script>alert(1)</script>',
    '#',
    '',
    `https://example.com/${'x'.repeat(5_000)}`,
  ];
  it.each(addresses)('is safe with the address %.60s', (address) => {
    for (const text of [
      `[a](<${address}>)`,
      `[a](${address})`,
      `![a](<${address}>)`,
      `<${address}>`,
      `[a][b]\n\n[b]: <${address}>`,
      `[![a](<${address}>)](<${address}>)`,
      `[a](https://example.com "${address}")`,
    ]) {
      const result = html(text);
      expectSafe(result);
      expect(result).not.toMatch(/href="(?!https?:\/\/|mailto:|#readme-)/);
    }
  });

  it('closes every link that it opens', () => {
    for (const text of [
      '[a](x) [b](https://example.com)',
      '[a ![b](c) d](https://e.example)',
      '![[a](b)](c)',
    ]) {
      const result = html(text);
      expect(result.match(/<a /g)?.length ?? 0).toBe(result.match(/<\/a>/g)?.length ?? 0);
    }
  });
});

describe('a hostile text', () => {
  const SIZE = 1_048_576;
  const repeated = (text: string): string => text.repeat(Math.ceil(SIZE / text.length));
  const texts: Record<string, string> = {
    'nested brackets': `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
    'nested links': `${'[a'.repeat(10_000)}${'](b)'.repeat(10_000)}`,
    'nested images': `${'![a'.repeat(10_000)}${'](b)'.repeat(10_000)}`,
    stars: repeated('*'),
    'stars and words': repeated('*a '),
    'stars and lines': repeated('*_'),
    brackets: repeated('['),
    'bangs and brackets': repeated('!['),
    'links that never end': repeated('[a]('),
    pipes: repeated('|'),
    'a table of empty cells': `${'|'.repeat(300)}\n${'|-'.repeat(299)}|\n${repeated('|a\n')}`,
    quotes: repeated('>'),
    'nested quotes': repeated('> '.repeat(200).concat('a\n')),
    'nested lists': Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth * 2)}- a`).join('\n'),
    backticks: Array.from({ length: 1_000 }, (_, count) => '`'.repeat(count)).join(' '),
    entities: repeated('&amp;'),
    'less than': repeated('<'),
    references: Array.from({ length: 50_000 }, (_, index) => `[a${index}]: x`).join('\n'),
    headings: repeated('# a\n'),
    underlines: repeated('a\n=\n'),
    backslashes: repeated('\\'),
    'one line': repeated('word '),
    nothing: repeated('\n'),
    'half of a pair': repeated('\ud83d'),
  };

  it.each(Object.keys(texts))('is bounded: %s', (name) => {
    const before = process.cpuUsage();
    const { html: result } = renderMarkdown(texts[name]!);
    // The worst case takes about 100 ms on an idle machine; tests share theirs.
    expect(process.cpuUsage(before).user).toBeLessThan(7_500_000);
    expect(result.length).toBeLessThanOrEqual(MARKDOWN_LIMITS.maxPageLength);
    expectSafe(result);
  });

  it('is truncated between two lines, with a note', () => {
    const { html: result, isCut } = renderMarkdown('a line of text\n'.repeat(20_000));
    expect(isCut).toBe(true);
    expect(result.trim().endsWith('a line of text</p>')).toBe(true);
    expect(renderMarkdown('short').isCut).toBe(false);
  });
});

describe('a long document', () => {
  const body = 'Some words of a paragraph.\n\n'.repeat(300);

  it('of 256 KB is shown in full', () => {
    const parts = Array.from({ length: 30 }, (_, index) => `# Part\n\n[see][end] ${index}\n\n${body}`);
    const text = `${parts.join('')}[end]: https://example.com/end\n`;
    expect(text.length).toBeGreaterThan(200_000);
    const { html, isCut } = renderMarkdown(text);
    expect(isCut).toBe(false);
    expect(html.match(/<h3/g)).toHaveLength(30);
    expect(html.match(/href="https:\/\/example.com\/end"/g)).toHaveLength(30);
    expect(html).toContain('id="readme-part-29"');
  });

  it('keeps code in a fence across sections', () => {
    const code = 'a: <b>1</b>\n'.repeat(6_000);
    const { html } = renderMarkdown(`~~~~yaml\n${code}~~~~\n\n# After\n`);
    expect(html).not.toContain('<b>');
    expect(html.match(/&lt;b&gt;1/g)).toHaveLength(6_000);
    expect(html).toContain('id="readme-after"');
  });

  it.each([
    ['one line', 'x'.repeat(300_000)],
    ['brackets', '['.repeat(260_000)],
    ['tables', `${'|'.repeat(200)}\n${'|-'.repeat(200)}|\n${`${'|'.repeat(200)}\n`.repeat(1_200)}`],
    ['quotes', `${'>'.repeat(1_000)} a\n`.repeat(260)],
  ])('of %s has a limited size', (_, text) => {
    expect(renderMarkdown(text).html.length).toBeLessThan(MARKDOWN_LIMITS.maxPageLength + 800_000);
  });
});
