import { describe, expect, it } from 'vitest';
import { copyComments, readDocument, writeDocument } from '../resources.js';

const copy = (from: string, to: string, asKyaml = false) => {
  const node = readDocument(to, 'to')!;
  copyComments(readDocument(from, 'from')!, node, { asKyaml });
  return writeDocument(node);
};

const FROM = 'a: [1] # a\nb: # b\n- p\nc: {} # c\nd: # d\ne: 1\n';

describe('comments of collections and of null', () => {
  it.each([
    ['a:\n- 1\nb: []\nc:\n  x: 1\nd: v\ne: 1\n', 'a: # a\n- 1\nb: [] # b\nc: # c\n  x: 1\nd: v # d\ne: 1\n'],
    ['a: 1\nb: {}\nc: []\nd: [1]\ne: 1\n', 'a: 1\nb: {} # b\nc: []\nd: [1] # d\ne: 1\n'],
    ['a: []\nb: 1\nc: 1\nd:\n  x: 1\ne: 1\n', 'a: [] # a\nb: 1 # b\nc: 1\nd: # d\n  x: 1\ne: 1\n'],
    ['a: # a\n- 1\nd: v # d\ne: 1\n', 'a: # a\n- 1\nd: v # d\ne: 1\n'],
  ])('stay on their line in %j', (to, wanted) => expect(copy(FROM, to)).toBe(wanted));

  it('go to a field below as in kyaml', () => {
    expect(copy(FROM, 'b: []\ne: 1\n', true)).toBe('b: []\ne: 1 # b\n');
  });
});

describe('comments of items', () => {
  const from =
    'a:\n# one\n- name: x\n# two\n- name: y\nb:\n- 1 # 1\n- 2 # 2\nc:\n- {p: 1} # p\n- {q: 1} # q\n';

  it('stay with their item', () => {
    expect(copy(from, 'a:\n- name: y\nb:\n- 1\n- 3\nc:\n- {q: 1}\n')).toBe(
      'a:\n- name: y\nb:\n- 1 # 1\n- 3\nc:\n- {q: 1}\n',
    );
    expect(copy(from, 'a:\n- name: x\n- name: z\n- name: y\nc:\n- {p: 2}\n- q: 1\n')).toBe(
      'a:\n# one\n- name: x\n- name: z\n- name: y\nc:\n- {p: 2} # p\n- q: 1\n',
    );
  });

  it('stay with their index as in kyaml', () => {
    expect(copy(from, 'a:\n- name: y\n', true)).toBe('a:\n# one\n- name: y\n');
  });
});
