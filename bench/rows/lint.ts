import { lint as lintDocument } from '@krmhub/schema';
import { parse } from 'yaml';
import { milliseconds } from '../figures.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { atMost, type Row } from '../row.js';
import { SyntheticFunctions } from '../synthetic/definitions.js';

/** More definitions add no information, and take minutes. */
const MAX_DEFINITIONS = 10_000;

export const lint: Row = {
  name: 'lint',
  title: 'lint of definitions',
  async run({ effort, report }, functions) {
    const count = Math.min(functions, MAX_DEFINITIONS);
    const source = new SyntheticFunctions(3);
    const files: Buffer[] = [];
    while (files.length < count) files.push(...source.next().map(({ text }) => Buffer.from(text)));
    report(`lint: ${files.length} definitions`);
    const sides = {
      krmhub: () =>
        timed(() => {
          for (const file of files) {
            const { documents } = lintDocument(file, { file: 'definition.yaml' });
            if (documents.length !== 1) throw new Error('a synthetic definition has errors');
          }
        }),
      yaml: () =>
        timed(() => {
          for (const file of files) parse(file.toString());
        }),
    };
    // Warm-up, so that compilation counts on neither side.
    await alternate(1, sides);
    const measured = await alternate(effort.rounds, sides);
    const [ours, theirs] = [spread(measured.krmhub).median, spread(measured.yaml).median];
    const against = ratio(measured.krmhub, measured.yaml);
    return [
      {
        row: 'lint',
        what: `${files.length} definitions`,
        ours: milliseconds(ours),
        against: `yaml ${milliseconds(theirs)}`,
        ratio: against,
        ...(effort.quick ? {} : { target: atMost(against, 1.5) }),
        figures: { definitions: files.length, oursMilliseconds: ours, yamlMilliseconds: theirs },
      },
    ];
  },
};
