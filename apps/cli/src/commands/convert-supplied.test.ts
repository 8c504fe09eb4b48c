import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runTest } from '../testing/command-line.js';

interface Written {
  spec: { versions: { runtime: object; usage: string; examples: string[] }[] };
}

const IMAGE = 'registry.example.com/team/split:v1.0.0';
const draft = (kind: string, version = '') => `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: example.com
  names: {kind: ${kind}}
  description: Change resources.
  versions:
  - {name: v1, ${version}idempotent: true, license: MIT}
`;
const metadata = (fields: string) => `description: Set labels.\ntags: [mutator]\nlicense: MIT\n${fields}`;
const convert = (stdin: string, ...args: string[]) => runTest(['convert', '-', ...args], { stdin });

async function convertOne(stdin: string, ...args: string[]) {
  const ran = await convert(stdin, ...args);
  expect(ran.exitCode, ran.err()).toBe(0);
  return { version: (parse(ran.out()) as Written).spec.versions[0]!, err: ran.err() };
}

describe('convert with supplied values', () => {
  it.each(['', 'runtime: {}, ', 'runtime: {container: {}}, ', 'runtime: {container: {image: <image>}}, '])(
    'completes a definition with "%s" as runtime',
    async (runtime) => {
      const refused = await convert(draft('Split', runtime));
      expect([refused.exitCode, refused.out()]).toEqual([1, '']);
      const links = ['--usage', 'https://docs.example.com/a', '--example', 'https://docs.example.com/b'];
      const { version, err } = await convertOne(draft('Split', runtime), '--image', IMAGE, ...links);
      expect(version).toMatchObject({
        runtime: { container: { image: IMAGE } },
        usage: 'https://docs.example.com/a',
        examples: ['https://docs.example.com/b'],
      });
      expect(err).toContain('warning[convert/runtime]');
      expect(err).not.toContain('has no effect');
    },
  );

  it('proposes --image for a definition without a runtime', async () => {
    const { exitCode, err } = await convert(draft('Split'));
    expect([exitCode, err()]).toEqual([1, expect.stringMatching(/^ {2}hint: .* --image registry\./m)]);
  });

  it.each([
    [
      'runtime: {container: {image: other.example.com/a:v1}}, ',
      { container: { image: 'other.example.com/a:v1' } },
    ],
    ['runtime: {starlark: "https://example.com/a.star"}, ', { starlark: 'https://example.com/a.star' }],
  ])('keeps existing values, and warns of options without effect', async (runtime, kept) => {
    const own = `${runtime}usage: "https://example.com/u", examples: ["https://example.com/e"], `;
    const links = ['--usage', 'https://docs.example.com/a', '--example', 'https://docs.example.com/b'];
    const { version, err } = await convertOne(draft('Split', own), '--image', IMAGE, ...links);
    expect(version).toMatchObject({
      runtime: kept,
      usage: 'https://example.com/u',
      examples: ['https://example.com/e'],
    });
    for (const option of ['--image', '--usage', '--example'])
      expect(err).toContain(`warning: ${option} has no effect`);
  });

  it('does not give several functions the same image', async () => {
    const { exitCode, out, err } = await convert(`${draft('Split')}---\n${draft('Merge')}`, '--image', IMAGE);
    expect([exitCode, out()]).toEqual([2, '']);
    expect(err()).toContain(
      '--image gives several functions the same image: example.com/Merge, example.com/Split',
    );
  });

  it.each([
    ['split:v1', 'has no registry'],
    ['example.com/Split', 'has upper-case letters'],
    ['', 'is empty'],
  ])('rejects the image "%s"', async (image, reason) => {
    const { exitCode, err } = await convert(draft('Split'), '--image', image);
    expect([exitCode, err()]).toEqual([2, expect.stringContaining(`--image ${image} ${reason}`)]);
  });

  it('uses the values for kpt metadata instead of derived ones', async () => {
    const given = ['--image', IMAGE, '--usage', 'https://docs.example.com/a'];
    const examples = 'examplePackageURLs: ["https://example.com/e"]\nsourceURL: ""\n';
    const { version } = await convertOne(metadata(examples), '--from', 'kpt-metadata', ...given);
    expect(version).toMatchObject({
      runtime: { container: { image: IMAGE } },
      usage: 'https://docs.example.com/a',
      examples: ['https://example.com/e'],
    });
    const source = `image: ${IMAGE}\nsourceURL: https://example.com/s\n`;
    const example = ['--example', 'https://docs.example.com/b', '--example', 'https://docs.example.com/c'];
    expect((await convertOne(metadata(source), ...example)).version).toMatchObject({
      usage: 'https://example.com/s',
      examples: ['https://docs.example.com/b', 'https://docs.example.com/c'],
    });
  });

  it('names the function in each message about long images', async () => {
    const functions = ['set-labels', 'set-annotations', 'ensure-name-substring'];
    for (const name of functions) {
      const image = `ghcr.io/example-organization/krm-functions-catalog/contributed/tools/${name}`;
      const { err } = await convert(metadata(`image: ${image}\n`));
      expect(err()).toMatch(new RegExp(`^error\\[convert/no-release\\]: .*/${name} has no tag`, 'm'));
    }
  });
});
