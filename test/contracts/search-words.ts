import { type FunctionChange, releaseWords, STOP_WORDS } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf, type SampleFunction } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFXYZäöüßéñσςж漢字0123456789'];
const MARKUP = [
  ' ',
  ' ',
  ' ',
  '\n',
  '\n# ',
  ' **',
  '`',
  '](',
  ' [',
  '\n* ',
  '_',
  '-',
  '. ',
  '<!-- ',
  '://',
  '|',
];

/** Search by words of READMEs, and by fields of functionConfigs. */
export function searchWordsContract(harness: () => RegistryStoreHarness): void {
  const store = () => harness().store;
  const kinds = async (text: string) =>
    (await store().search({ text, limit: 100 })).items.map(({ kind }) => kind);
  const publish = async (sample: SampleFunction, change: Partial<FunctionChange> = {}) => {
    const revision = (await store().function('example.com', sample.kind))?.revision ?? 0;
    await store().commitFunction({ ...changeOf(sample, revision), ...change });
  };

  describe('the words of a release', () => {
    it('are those of the displayed one, and go with it', async () => {
      await publish({
        kind: 'Fn',
        release: '1.0.0',
        fields: ['oldField'],
        readme: 'The marmalade of kiwis.',
      });
      const { words: _, ...second } = changeOf({ kind: 'Fn', release: '1.1.0' }, 1);
      const first = changeOf({ kind: 'Fn', release: '1.0.0', fields: ['oldField'] });
      await publish({ kind: 'Fn', release: '1.1.0', fields: ['newField'], readme: 'A jam.' });
      expect(await kinds('field:newField jam')).toEqual(['Fn']);
      expect([await kinds('marmalade'), await kinds('field:oldField')]).toEqual([[], []]);
      const takedown = { group: 'example.com', kind: 'Fn', at: AT, by: 'root', reason: 'bad' };
      await store().commitTakedown({
        group: 'example.com',
        kind: 'Fn',
        expectedRevision: 2,
        takedowns: [{ ...takedown, release: '1.1.0', digest: second.release.digest }],
        search: first.search,
      });
      expect(await kinds('marmalade field:old')).toEqual(['Fn']);
      expect([await kinds('jam'), await kinds('field:newField')]).toEqual([[], []]);
      await store().commitTakedown({
        group: 'example.com',
        kind: 'Fn',
        expectedRevision: 3,
        takedowns: [{ ...takedown, release: '1.0.0', digest: first.release.digest }],
      });
      expect([await kinds('marmalade'), await kinds('field:oldField')]).toEqual([[], []]);
    });

    it('find it by any word or two of its README, and by any field', async () => {
      const random = new Random(41);
      const word = () => Array.from({ length: 2 + random.below(8) }, () => random.pick(LETTERS)).join('');
      const samples = Array.from({ length: 40 }, (_, at) => {
        const readme = Array.from({ length: random.below(80) }, () => word() + random.pick(MARKUP)).join('');
        return { kind: `Fn${at}`, readme, fields: Array.from({ length: random.below(6) }, word) };
      });
      for (const sample of samples) await publish(sample);
      const wordsOf = ({ readme, fields }: SampleFunction) => {
        const { release } = changeOf({ kind: 'Any', fields: fields! });
        return releaseWords(release.definition, Buffer.from(readme!));
      };
      for (let count = 0; count < 150; count += 1) {
        const sample = random.pick(samples);
        const words = wordsOf(sample);
        const known = words.readme.split(' ').filter((one) => one !== '' && !STOP_WORDS.has(one));
        const fields = words.fields.split(' ').filter((one) => one !== '');
        const texts = [
          random.pick([...known, sample.kind]),
          ...fields.slice(0, 2).map((name) => `field:${name}`),
        ];
        texts.push(`${random.pick([...known, sample.kind])} ${random.pick([...known, sample.kind])}`);
        for (const text of texts) {
          expect(await kinds(text), JSON.stringify([text, sample])).toContain(sample.kind);
          expect(await kinds(`-${text.split(' ')[0]}`), text).not.toContain(sample.kind);
        }
      }
    });

    it('never come before words of the kind, the tags, or the description', async () => {
      const random = new Random(42);
      const places = ['kind', 'tags', 'description', 'fields', 'readme'] as const;
      for (let at = 0; at < 60; at += 1) {
        const place = places[at % places.length]!;
        await publish({
          kind: place === 'kind' ? `Zip${at}` : `Fn${random.below(1_000)}X${at}`,
          tags: place === 'tags' ? ['zip'] : ['other'],
          description: place === 'description' ? 'It can zip.' : 'It does something.',
          fields: place === 'fields' ? ['zip'] : ['other'],
          readme: place === 'readme' ? `zip `.repeat(20) : 'Something.',
          publishedAt: `2030-01-0${1 + random.below(9)}T00:00:00.000Z`,
          ...(random.chance(0.3) && { deprecated: { at: AT, by: 'someone', reason: 'old' } }),
        });
      }
      const { items, total } = await store().search({ text: 'zip', limit: 100 });
      const found = items.map(({ kind, tags, description }) =>
        kind.startsWith('Zip') ? 0 : tags.includes('zip') ? 1 : description.includes('zip') ? 2 : 3,
      );
      expect(total).toBe(60);
      expect(found).toEqual([...found].sort());
    });

    it('of upstream functions are their fields', async () => {
      await cutUpstream(store(), 'platform', [{ kind: 'Weigh', field: 'unitOfWeight' }]);
      await store().synchronizeSearch();
      expect(await kinds('field:unitOfWeight')).toEqual(['Weigh']);
      await cutUpstream(store(), 'platform', [{ kind: 'Weigh', field: 'scale' }]);
      await store().synchronizeSearch();
      expect([await kinds('field:scale'), await kinds('field:unit')]).toEqual([['Weigh'], []]);
    });

    it('can be stored later', async () => {
      const samples = ['One', 'Two', 'Three'].map((kind) => ({ kind, readme: `Marmalade ${kind}.` }));
      for (const sample of samples) {
        const { words: _, ...change } = changeOf(sample);
        await store().commitFunction(change);
      }
      expect(await kinds('marmalade')).toEqual([]);
      const first = await store().releasesWithoutWords({ after: 0, limit: 2 });
      expect(first.map(({ kind }) => kind)).toEqual(['One', 'Two']);
      const rest = await store().releasesWithoutWords({ after: first[1]!.id, limit: 2 });
      expect(rest.map(({ kind }) => kind)).toEqual(['Three']);
      // One that was taken down, and whose number another release has.
      const gone = { ...first[1]!, release: '9.0.0' };
      await store().putReleaseWords(
        [...first.slice(0, 1), gone, ...rest].map((of) => ({
          of,
          words: { fields: 'apple', readme: `Marmalade ${of.kind}` },
        })),
      );
      expect((await store().releasesWithoutWords({ after: 0, limit: 9 })).map(({ kind }) => kind)).toEqual([
        'Two',
      ]);
      // Says that all are complete.
      await store().changeSetting('release-words', undefined, 'complete');
      await kinds('marmalade');
      await store().synchronizeSearch();
      expect((await kinds('marmalade')).sort()).toEqual(['One', 'Three']);
      expect(await kinds('marmalade three')).toEqual(['Three']);
    });
  });
}
