import { describe, expect, it } from 'vitest';
import { SETTINGS_CODES } from './codes.js';
import { readSettings } from './read-settings.js';
import { releaseRule, SETTINGS_LIMITS } from './settings.js';

const HEAD = 'apiVersion: krmhub.dev/v1alpha1\nkind: PackageSettings\n';
const read = (text: string) => readSettings(new TextEncoder().encode(text), 'krmhub.yaml');
const problems = (text: string) =>
  read(text).diagnostics.map(
    ({ code, range, message }) => `${code} ${range?.start.line ?? 0}:${range?.start.column ?? 0} ${message}`,
  );

describe('readSettings', () => {
  it('reads ranges, the minimum age, and the groups without it', () => {
    const text = `${HEAD}metadata:
  name: settings
  annotations: {config.kubernetes.io/local-config: "true"}
functions:
- kind: SetLabels
  release: ~1.2
- {group: example.com, kind: SetLabels, release: ">=1.0.0, <2"}
minAge: 72h
exempt: [example.com, "*.example.org"]
`;
    expect(read(text)).toEqual({
      settings: {
        functions: [
          { kind: 'SetLabels', range: '~1.2' },
          { group: 'example.com', kind: 'SetLabels', range: '>=1.0.0, <2' },
        ],
        minAge: { seconds: 259_200, text: '72h' },
        exempt: ['example.com', '*.example.org'],
      },
      diagnostics: [],
    });
    expect(read(HEAD).settings).toEqual({ functions: [], exempt: [] });
  });

  it('reports all problems at once, where they are', () => {
    const text = `apiVersion: krmhub.dev/v1
kind: Consumer
functions:
- kind: Set Labels
  release: "!=1"
- {kind: A, release: newest, range: "1"}
- {kind: B, release: "1", group: UPPER}
- {kind: C, release: 1}
- {kind: D, release: "1"}
- {kind: D, release: "2"}
- {release: "2"}
minAge: 3 days
exempt: [example.com, "a b"]
minimumAge: 3d
`;
    expect(problems(text)).toEqual([
      'settings/document 1:13 `apiVersion` is not `krmhub.dev/v1alpha1`',
      'settings/document 2:7 `kind` is not `PackageSettings`',
      'settings/name 4:9 "Set Labels" is not a valid kind',
      'settings/range 5:12 the range "!=1" contains "!=", which is not supported',
      'settings/range 6:22 "newest" is not a release range',
      'settings/unknown-field 6:30 unknown field `range`',
      'settings/name 7:34 "UPPER" is not a valid group',
      'settings/wrong-type 8:22 expected text, found the number 1',
      'settings/duplicate 10:3 D appears twice',
      'settings/missing-field 11:3 `kind` is missing',
      'settings/age 12:9 "3 days" is not a duration',
      'settings/name 13:23 "a b" is not a valid group',
      'settings/unknown-field 14:1 unknown field `minimumAge`',
    ]);
  });

  it('is one document of this kind', () => {
    expect(problems(`${HEAD}---\n${HEAD}`)).toEqual(['settings/document 0:0 expected one document, found 2']);
    expect(problems('# nothing\n')[0]).toContain('yaml/empty');
    expect(problems('- a\n')).toEqual(['settings/wrong-type 1:1 expected a mapping, found a list']);
    expect(problems(`${HEAD}functions: {}\nexempt: x\nminAge: 72\nmetadata: []\n`)).toEqual([
      'settings/wrong-type 3:12 expected a list, found a mapping',
      'settings/wrong-type 4:9 expected a list, found text',
      'settings/age 5:9 "72" has no unit',
      'settings/wrong-type 6:11 expected a mapping, found a list',
    ]);
  });

  it('is limited in size', () => {
    const { maxSettingsBytes, maxRanges, maxExempt, maxSettingLength } = SETTINGS_LIMITS;
    const padded = (bytes: number) => `${HEAD}#${'x'.repeat(bytes - HEAD.length - 2)}\n`;
    expect(problems(padded(maxSettingsBytes))).toEqual([]);
    expect(problems(padded(maxSettingsBytes + 1))[0]).toContain('settings/limit');
    const ranges = (count: number) =>
      `${HEAD}functions:\n${Array.from({ length: count }, (_, at) => `- {kind: K${at}, release: "1"}\n`).join('')}`;
    expect(problems(ranges(maxRanges))).toEqual([]);
    expect(problems(ranges(maxRanges + 1))[0]).toContain('settings/limit');
    const exempt = (count: number) => `${HEAD}exempt: [${'example.com, '.repeat(count)}]\n`;
    expect(problems(exempt(maxExempt))).toEqual([]);
    expect(problems(exempt(maxExempt + 1))[0]).toContain('settings/limit');
    const range = (length: number) =>
      `${HEAD}functions: [{kind: A, release: "1${' '.repeat(length - 1)}"}]\n`;
    expect(problems(range(maxSettingLength))).toEqual([]);
    expect(problems(range(maxSettingLength + 1))[0]).toContain('settings/limit');
  });

  it('has a fix for each problem', () => {
    for (const { fix } of Object.values(SETTINGS_CODES)) expect(fix).toMatch(/^[A-Z].*\.$/);
  });
});

describe('releaseRule', () => {
  const settings = {
    functions: [
      { kind: 'SetLabels', range: '1' },
      { group: 'example.com', kind: 'SetLabels', range: '2' },
    ],
    minAge: { seconds: 60, text: '1m' },
    exempt: ['*.example.org', 'own.example.com'],
  };
  const rule = (group: string, kind: string, written?: string) =>
    releaseRule(settings, { group, kind }, written);
  const { minAge } = settings;

  it('takes the annotation, else the entry with the group, else the one without', () => {
    expect(rule('example.com', 'SetLabels', '3')).toEqual({ range: '3', minAge });
    expect(rule('example.com', 'SetLabels')).toEqual({ range: '2', minAge });
    expect(rule('other.example.com', 'SetLabels')).toEqual({ range: '1', minAge });
    expect(rule('example.com', 'setlabels')).toEqual({ minAge });
  });

  it('has no minimum age for exempt groups', () => {
    expect(rule('a.example.org', 'Other')).toBeUndefined();
    expect(rule('own.example.com', 'SetLabels')).toEqual({ range: '1' });
    expect(rule('example.org', 'Other')).toEqual({ minAge });
  });

  it('is nothing without settings', () => {
    expect(releaseRule(undefined, { group: 'example.com', kind: 'SetLabels' })).toBeUndefined();
    expect(releaseRule(undefined, { group: 'example.com', kind: 'SetLabels' }, '1')).toEqual({ range: '1' });
  });
});
