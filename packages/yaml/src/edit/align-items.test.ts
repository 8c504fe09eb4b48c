import { describe, expect, it } from 'vitest';
import { fromJson, toJson } from '../nodes/json.js';
import { documentRoot } from '../nodes/node.js';
import { readResources } from '../parse/read-resources.js';
import { editFile } from './edit-file.js';

const RULES = `rules:
# reads deployments
- apiGroups: [apps]
  resources: [deployments] # d only
  verbs: [get]
# reads jobs
- apiGroups: [batch]
  resources: [jobs] # j only
  verbs: [get]
# reads pods
- apiGroups: [""]
  resources: [pods] # p only
  verbs: [get]
`;

type Rule = Record<'apiGroups' | 'resources' | 'verbs', string[]>;
const added: Rule = { apiGroups: ['x'], resources: ['y'], verbs: ['get'] };

function edited(change: (rules: Rule[]) => void): string {
  const [before] = readResources(RULES, 'rules.yaml');
  const value = toJson(documentRoot(before!.node)) as unknown as { rules: Rule[] };
  change(value.rules);
  return editFile({ text: RULES, documents: [{ before: before!, after: fromJson(value as never) }] }).text;
}

/** The lines that were removed, and those that were added. */
function difference(text: string): { removed: string[]; added: string[] } {
  const [old, now] = [RULES.split('\n'), text.split('\n')];
  return {
    removed: old.filter((line) => !now.includes(line)),
    added: now.filter((line) => !old.includes(line)),
  };
}

/** Each comment stands above or behind what it stood at. */
function expectOwnComments(text: string): void {
  for (const [name, group] of [
    ['deployments', 'apps'],
    ['jobs', 'batch'],
    ['pods', '""'],
  ] as const) {
    const [comment] = name;
    if (!text.includes(`resources: [${name}]`)) {
      expect(text).not.toContain(`# reads ${name}`);
      expect(text).not.toContain(`# ${comment} only`);
    } else
      expect(text).toContain(
        `# reads ${name}\n- apiGroups: [${group}]\n  resources: [${name}] # ${comment} only\n`,
      );
  }
}

describe('items without a name', () => {
  it('are found again behind an item that was removed', () => {
    const text = edited((rules) => {
      rules.splice(1, 1);
      rules[1]!.verbs.push('list');
    });
    expectOwnComments(text);
    expect(difference(text).added).toEqual(['  verbs: [get, list]']);
  });

  it.each([0, 1, 2, 3])('are found again around an item that was inserted at %i', (at) => {
    for (const changed of [at - 1, at + 1]) {
      const text = edited((rules) => {
        rules.splice(at, 0, structuredClone(added));
        rules[changed]?.verbs.push('list');
      });
      expectOwnComments(text);
      expect(difference(text).removed).toEqual([]);
      expect(text.match(/#/g)).toHaveLength(6);
    }
  });

  it('are found again where one is inserted, one removed, and others changed', () => {
    const text = edited((rules) => {
      rules.shift();
      rules[0]!.verbs.push('list');
      rules.splice(1, 0, structuredClone(added));
      rules[2]!.apiGroups.push('core');
    });
    expect(text).toContain(
      '# reads jobs\n- apiGroups: [batch]\n  resources: [jobs] # j only\n  verbs: [get, list]\n',
    );
    expect(text).toContain('# reads pods\n- apiGroups: ["", core]\n  resources: [pods] # p only\n');
    expect(text).not.toContain('deployments');
  });
});
