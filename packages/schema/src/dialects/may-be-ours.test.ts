import { describe, expect, it } from 'vitest';
import { lint } from '../lint/lint.js';
import { mayBeOurs } from './may-be-ours.js';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('a file in a folder', () => {
  it.each([
    ['a workflow', 'name: CI\non:\n  push: {branches: [main]}\njobs: {}\n'],
    ['the values of a chart', 'enabled: yes\nimage: {tag: 1.2}\n'],
    ['a Deployment', 'apiVersion: apps/v1\nkind: Deployment\nmode: 0644\n'],
    ['JSON of another kind', '{"apiVersion": "v1", "kind": "ConfigMap", "data": {"on": "yes"}}'],
    ['a template', 'a: {{ .Values.a }}\n  b: c\n'],
  ])('is skipped if it is %s, without a word about its text', (_name, text) => {
    expect(mayBeOurs(bytes(text))).toBe(false);
    const result = lint(bytes(text), { file: 'f.yaml', skipForeign: true });
    expect(result).toEqual({ diagnostics: [], documents: [], skipped: 1 });
  });

  it.each([
    ['a definition with an unclosed list', 'kind: KRMFunctionDefinition\nspec: [\n'],
    ['a misspelled kind', 'apiVersion: x/v1\nkind: KRMFuncionDefinition\nspec: {}\n'],
    ['a misspelled catalog in flow style', '{apiVersion: a, "kind" : "Catolog"}'],
    ['a catalog in JSON', '{"kind":"Catalog","on":1}'],
    ['the group alone', 'apiVersion: config.kubernetes.io/v1alpha1\nspec: {}\n'],
    ['a definition without its head', 'spec:\n  versions:\n  - idempotent: true\n'],
    ['a kind below a comment', 'a: b\n---\n# c\nkind:   KRMFunctionCatalog\n'],
    ['a kind that is an alias', 'a: &k Catalog\nkind: *k\n'],
    ['a key on a line of its own', '? kind\n: Catalog\n'],
    ['text in UTF-16', 'k\0i\0n\0d\0'],
  ])('is read if it has %s', (_name, text) => {
    expect(mayBeOurs(bytes(text))).toBe(true);
  });

  it('is read fully if the user names it', () => {
    const codes = lint(bytes('on: yes\n'), { file: 'f.yaml' }).diagnostics.map(({ code }) => code);
    expect(codes).toContain('dialect/unknown-document');
  });
});
