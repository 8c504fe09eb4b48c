/**
 * Everything exists once for each visibility, with names of the same length and shape that differ in one letter, so that
 * the answers for a hidden name and for one that does not exist can be compared byte by byte.
 */
export const LETTERS = { public: 'w', internal: 'x', private: 'y' } as const;
/** Nothing has the names with this letter. */
export const ABSENT = 'z';

export type Letter = (typeof LETTERS)[keyof typeof LETTERS];

/** Some functions are hidden by the rule of their group, and some by their own. */
export const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  teams:
  - {name: granted}
  - {name: others}
${Object.values(LETTERS)
  .map(namesWith)
  .map(
    ({ team, word }) => `  - {name: ${team}, displayName: Team of ${word}, contact: ${word}@example.com}\n`,
  )
  .join('')}  groups:
  - pattern: ${word('w')}.example.com
    owner: ${namesWith('w').team}
    functions:
    - {kind: ${namesWith('x').half}, visibility: internal}
    - {kind: ${namesWith('y').half}, visibility: private}
  - {pattern: ${word('x')}.example.com, visibility: internal, owner: ${namesWith('x').team}}
  - pattern: ${word('y')}.example.com
    visibility: private
    owner: ${namesWith('y').team}
    trustedPublishingOnly: true
  catalogs:
  - {pattern: "*-${word('x')}", visibility: internal}
  - {pattern: "*-${word('y')}", visibility: private}
  repositories:
  - {pattern: team/${word('x')}, visibility: internal}
  - {pattern: team/${word('y')}, visibility: private}
  grants:
  - {to: {team: granted}, may: [read], in: {group: ${word('y')}.example.com}}
  - {to: {team: granted}, may: [read], in: {catalog: "*-${word('y')}"}}
  - {to: {team: granted}, may: [read], in: {repository: team/${word('y')}}}
`;

function word(letter: string): string {
  return letter.repeat(8);
}

/** A policy of each group, one of all of them, and one that names none. */
export const POLICIES = [
  ...Object.values(LETTERS).map((letter) => [namesWith(letter).policy, namesWith(letter).group] as const),
  ['mixed', Object.values(LETTERS).map((letter) => namesWith(letter).group)] as const,
  ['every', '"*.example.com"'] as const,
]
  .map(
    ([name, groups]) => `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: ${name}}
spec: {groups: [${groups}], signers: [{issuer: https://issuer.example.com, subject: ci}]}
`,
  )
  .join('---\n');

/** A public function. What replaces its releases has the letters, and was hidden after they were deprecated. */
export const FORMER = {
  ...{ group: 'other.example.com', kind: 'Former', version: 'v1' },
  releases: { w: '1.0.0', x: '1.1.0', y: '1.2.0' } as const satisfies Record<Letter, string>,
};

/** The names of what has a letter. */
export function namesWith(letter: string) {
  return {
    group: `${word(letter)}.example.com`,
    kind: letter.toUpperCase() + word(letter),
    /** A kind in the public group. */
    half: `H${word(letter)}`,
    catalog: `cat-${word(letter)}`,
    /** A catalog that was deleted. */
    deleted: `old-${word(letter)}`,
    repository: `team/${word(letter)}`,
    /** It covers the group. */
    policy: `policy-${word(letter)}`,
    /** It owns the group. */
    team: `team-${word(letter)}`,
    word: word(letter),
  };
}

/** Returns text about what is hidden as it would be about what does not exist. */
export function asAbsent(text: string, letter: string): string {
  return text.replaceAll(new RegExp(`${letter}{6,}`, 'gi'), (found) =>
    found.replaceAll(letter, ABSENT).replaceAll(letter.toUpperCase(), ABSENT.toUpperCase()),
  );
}

/** Reports whether text names something with the letter. */
export function namesLetter(text: string, letter: string): boolean {
  return new RegExp(`${letter}{6,}`, 'i').test(text);
}
