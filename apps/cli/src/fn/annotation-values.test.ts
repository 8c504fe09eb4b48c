import {
  decodeResourceList,
  encodeResourceList,
  type Resource,
  readResources,
  runChain,
  type Step,
} from '@krmhub/functions/fn';
import { itemText, writtenItem } from '@krmhub/functions/resource-list/item-text';
import { executeScript } from '@krmhub/functions/starlark/execute-script';
import type { JsonValue } from '@krmhub/schema/definition';
import { fieldAt, readResourceList, scalarText } from '@krmhub/schema/resource-yaml';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { parse, parseDocument, Scalar, stringify } from 'yaml';

const PARTS = [
  ...['a', 'b c', '0', '~', 'true', 'é', '😀', '\u2028', '\ufeff', '\x07', '\t', '\\', '\r'],
  ...[
    '\n',
    '\n',
    '\n\n',
    ' ',
    '  ',
    '#',
    ' # ',
    ': ',
    "'",
    '"',
    '- ',
    '---',
    '...',
    '|',
    '>',
    '%',
    '{',
    ']',
    '&',
    '!',
  ],
  ...['metadata:\n', '  annotations:\n', 'name: a'],
];
const SEEDS = Array.from({ length: 40 }, (_, seed) => seed);
const DOCUMENTS_OF_A_SEED = 50;

function randomText(random: Random): string {
  const text = Array.from({ length: random.below(6) }, () => random.pick(PARTS)).join('');
  return random.chance(0.3) ? text + '\n'.repeat(1 + random.below(3)) : text;
}

/** As PyYAML writes text with line ends: in single quotes, with one more line end, and the last quote alone. */
function pythonQuoted(text: string, indent: string): string {
  return `'${text.replaceAll("'", "''").replace(/\n+/g, (breaks) => `${breaks}\n${indent}`)}'`;
}

const STYLES = [
  Scalar.PLAIN,
  Scalar.QUOTE_SINGLE,
  Scalar.QUOTE_DOUBLE,
  Scalar.BLOCK_LITERAL,
  Scalar.BLOCK_FOLDED,
] as const;

/** What only double quotes can hold: `yaml` does not escape it, and go-yaml refuses it. */
const ESCAPED = /[\u2028\ufeff\x07\r]|(?:^|\n)\s*\t|^[ \n]* [ \n]*$/;

function escaped(text: string): string {
  return JSON.stringify(text).replace(/[\u2028\ufeff]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
}

/** The lines of a field with a value, in a random style that can hold it. */
function fieldText(random: Random, indent: string, key: string, value: string): string {
  const isSpaced = /\n[ \t]|[ \t]\n|^\s|[ \t]$/.test(value);
  if (ESCAPED.test(value)) return `${indent}${key}: ${escaped(value)}\n`;
  if (!isSpaced && random.chance(0.3)) return `${indent}${key}: ${pythonQuoted(value, `${indent}  `)}\n`;
  const scalar = new Scalar(value);
  scalar.type = random.pick(STYLES);
  let text = stringify({ [key]: scalar }, { lineWidth: random.pick([0, 40]), version: '1.1' });
  // It writes some values without quotes that need them.
  if (parseDocument(text).errors.length > 0) text = `${key}: ${escaped(value)}\n`;
  return text.replace(/^(?=.)/gm, indent);
}

interface Written {
  text: string;
  annotations: Record<string, string>;
  data: Record<string, string>;
}

function randomDocument(random: Random): Written {
  const written: Written = { text: '', annotations: {}, data: {} };
  const fields = (into: Record<string, string>, indent: string, count: number) => {
    const lines: string[] = [];
    for (let at = 0; at < count; at++) {
      into[`k${at}`] = randomText(random);
      lines.push(fieldText(random, indent, `k${at}`, into[`k${at}`]!));
    }
    return lines.join('');
  };
  const annotations = fields(written.annotations, '    ', random.below(4));
  const metadata = random.shuffled([
    '  name: a\n',
    ...(annotations === '' ? [] : [`  annotations:\n${annotations}`]),
    ...(random.chance(0.3) ? [fieldText(random, '  ', 'generateName', randomText(random))] : []),
    ...(random.chance(0.3) ? [`  labels:\n${fields({}, '    ', 1)}`] : []),
  ]);
  const rest = random.shuffled([
    `metadata:\n${metadata.join('')}`,
    ...(random.chance(0.7) ? [`data:\n${fields(written.data, '  ', 1 + random.below(2))}`] : []),
  ]);
  written.text = `apiVersion: v1\nkind: ConfigMap\n${rest.join('')}`;
  return written;
}

const run = async (resources: readonly Resource[], edit: (input: string) => string): Promise<Resource[]> => {
  const step: Step = {
    name: 'edit',
    type: 'mutator',
    run: async (input) => ({
      output: Buffer.from(edit(Buffer.from(input).toString())),
      stderr: new Uint8Array(),
      stderrTruncated: false,
      exitCode: 0,
      results: [],
    }),
  };
  const { resources: after, failed } = await runChain(resources, [step]);
  expect(failed?.error?.message).toBeUndefined();
  return [...after];
};

/** The annotations and data of a resource. */
function readValues(resource: Resource): Pick<Written, 'annotations' | 'data'> {
  const { metadata, data = {} } = resource.value() as { metadata: { annotations?: object }; data?: object };
  return { annotations: metadata.annotations ?? {}, data } as Pick<Written, 'annotations' | 'data'>;
}

function collectStrings(value: JsonValue): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(collectStrings) : [];
}

describe.each(SEEDS)('annotations in any style, seed %i', (seed) => {
  const random = new Random(seed);
  const written = Array.from({ length: DOCUMENTS_OF_A_SEED }, () => randomDocument(random));
  const expected = written.map(({ annotations, data }) => ({ annotations, data }));
  const resources = written.map(({ text }, at) => readResources(text, { path: `${at}.yaml` })[0]!);

  const plain = resources.filter(
    (resource) => !collectStrings(resource.value()).some((text) => ESCAPED.test(text)),
  );

  it('are what was written, and what another parser reads in the input of a function', () => {
    expect(resources.map(readValues)).toEqual(expected);
    for (const [at, resource] of resources.entries()) {
      const [item] = readResourceList(encodeResourceList([resource]), 'list').items;
      for (const [key, value] of Object.entries(written[at]!.annotations)) {
        expect(scalarText(fieldAt(item!, ['metadata', 'annotations', key]))).toBe(value);
      }
      expect(itemText(resource, undefined)).toBe(writtenItem(resource, []));
    }
  });

  it('survive a function that gives back or changes its input, and a second run changes nothing', async () => {
    const changed = await run(await run(resources, (input) => input), (input) =>
      input.replaceAll('kind: ConfigMap', 'kind: Other'),
    );
    expect(changed.map(readValues)).toEqual(expected);
    const files = changed.map((resource) => resource.text());
    const again = files.map((text, at) => readResources(text, { path: `${at}.yaml` })[0]!);
    expect(again.map(readValues)).toEqual(expected);
    const second = await run(again, (input) => `${input}# changed\n`);
    expect(second.map((resource) => resource.text())).toEqual(files);
  });

  it('survive a Starlark script that gives back some resources and changes others', async () => {
    const script = `
for at, resource in enumerate(ctx.resource_list["items"]):
  if at % 3 == 1:
    resource["data"]["added"] = "x"
  if at % 3 == 2:
    resource["metadata"]["annotations"]["added"] = "x"
`;
    const edit = (input: string) => {
      const task = {
        name: 'fn.star',
        script: Buffer.from(script),
        input: Buffer.from(input),
        environment: {},
      };
      const { exitCode, output } = executeScript(
        task,
        (line) => expect(line).toBe(''),
        () => null,
      );
      expect(exitCode).toBe(0);
      return output;
    };
    const withData = plain.filter(({ body }) => (body.value() as { data?: object }).data !== undefined);
    const after = await run(withData, edit);
    expect(after.map(readValues)).toEqual(
      withData.map(readValues).map(({ annotations, data }, at) => ({
        annotations: at % 3 === 2 ? { ...annotations, added: 'x' } : annotations,
        data: at % 3 === 1 ? { ...data, added: 'x' } : data,
      })),
    );
  });

  it('survive a function that writes them in another style', async () => {
    const defaultStringType = random.pick(STYLES.slice(1));
    const lineWidth = random.pick([0, 40]);
    const after = await run(plain, (input) => {
      const items = decodeList(input);
      return stringify({ kind: 'ResourceList', items }, { defaultStringType, lineWidth, version: '1.1' });
    });
    expect(after.map(readValues)).toEqual(plain.map(readValues));
    expect(after.map(({ path }) => path)).toEqual(plain.map(({ path }) => path));
    const files = after.map((resource) => resource.text());
    expect(decodeResourceList(files.join('---\n')).resources.map((one) => one.text())).toEqual(files);
  });
});

/** As a function reads it whose library is strict. */
function decodeList(text: string): JsonValue[] {
  return (parse(text, { version: '1.1' }) as { items: JsonValue[] }).items;
}
