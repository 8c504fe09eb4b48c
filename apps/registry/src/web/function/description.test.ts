import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

const WORDS = Array.from({ length: 120 }, (_, at) => `word${at}`);
const UNBROKEN = 'long'.repeat(200);

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  const readme = '# Title\n\nText.\n';
  await registry.publish({ kind: 'Long', release: '1.0.0', description: WORDS.join(' ') }, readme);
  await registry.publish({ kind: 'Unbroken', release: '1.0.0', description: UNBROKEN });
  await registry.publish({ kind: 'Short', release: '1.0.0', description: 'Sets a label.' });
});
afterAll(() => registry.close());

const main = async (kind: string) => {
  const response = await registry.request(`/functions/example.com/${kind}`, {
    headers: { Accept: 'text/html' },
  });
  const text = await response.text();
  return text.slice(text.indexOf('<h1>'), text.indexOf('id="about"'));
};

it('shows each word of a long description once: its start, and the rest in a fold', async () => {
  const text = await main('Long');
  for (const word of WORDS) expect(text.match(new RegExp(`\\b${word}\\b`, 'g')), word).toHaveLength(1);
  const fold = /<details class="lead"><summary>(.*?)<\/summary>(.*?)<\/details>/s.exec(text)!;
  expect(fold[1]).toContain('word0 ');
  expect(fold[1]!.length).toBeLessThan(400);
  expect(fold[2]).toContain('word119');
});

it('cuts a text without spaces anywhere, and no short one', async () => {
  expect((await main('Unbroken')).replace(/<[^>]*>|[ …]/g, '')).toContain(UNBROKEN);
  expect(await main('Short')).toContain('<p class="lead"><bdi>Sets a label.</bdi></p>');
});
