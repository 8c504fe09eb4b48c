import { matchesGlob, type SourceField, type SourceIdentity, type SourceRequirements } from '@krmhub/schema';
import { SOURCE_REQUIREMENTS } from '@krmhub/schema/documents/signer';
import {
  type ClaimProblem,
  claimProblem,
  describeProblem,
} from '../access/trusted-publishers/check-claims.js';
import { workflowFile } from './describe-source.js';

export const SOURCE_FIELDS = Object.keys(SOURCE_REQUIREMENTS) as SourceField[];

type Values = (source: SourceIdentity) => (string | undefined)[];

const file = ({ sourceRepositoryRef }: SourceIdentity, uri: string | undefined) =>
  uri === undefined ? undefined : workflowFile(uri, sourceRepositoryRef);

/** Where a certificate has what a field requires. If it has several values, one of them is sufficient. */
const VALUES: Record<SourceField, Values> = {
  repository: ({ sourceRepositoryURI }) => [sourceRepositoryURI],
  repositoryId: ({ sourceRepositoryIdentifier }) => [sourceRepositoryIdentifier],
  owner: ({ sourceRepositoryOwnerURI }) => [sourceRepositoryOwnerURI],
  ownerId: ({ sourceRepositoryOwnerIdentifier }) => [sourceRepositoryOwnerIdentifier],
  ref: ({ sourceRepositoryRef }) => [sourceRepositoryRef],
  workflow: (source) => [file(source, source.buildConfigURI), file(source, source.buildSignerURI)],
  trigger: ({ buildTrigger }) => [buildTrigger],
  environment: ({ deploymentEnvironment }) => [deploymentEnvironment],
  runnerEnvironment: ({ runnerEnvironment }) => [runnerEnvironment],
};

/** Fields whose value only one repository or owner has, so that a signer with one of them needs no subject. */
export const NAMING_FIELDS: readonly SourceField[] = ['repository', 'repositoryId', 'owner', 'ownerId'];

const URI = /^https:\/\/[^\s@?#]+[^\s@?#/]$/;

/** What every value matches that a certificate can have. */
export const SOURCE_FORMS: Partial<Record<SourceField, RegExp>> = {
  repository: URI,
  owner: URI,
  workflow: URI,
  ref: /^(?:refs\/|\*)/,
};

/** Returns every requirement that a source does not meet. What the certificate does not state meets none. */
export function sourceProblems(
  required: SourceRequirements,
  source: SourceIdentity | undefined,
): ClaimProblem[] {
  return SOURCE_FIELDS.flatMap((field) => {
    const expected = required[field];
    if (expected === undefined) return [];
    const found = VALUES[field](source ?? {}).filter((value) => value !== undefined);
    const isMet = (value: string) =>
      field === 'ref' ? matchesGlob(expected, value) : isSameName(value, expected);
    if (found.some(isMet)) return [];
    return [claimProblem(field, expected, found[0])];
  });
}

/** Whether two URLs or values are the same. */
export function isSameName(value: string | undefined, other: string): boolean {
  return value !== undefined && foldGithubName(value) === foldGithubName(other);
}

/** GitHub does not distinguish case in the names of owners and repositories: no two differ in it alone. */
function foldGithubName(value: string): string {
  return value.replace(/^https:\/\/github\.com\/[^/]+(?:\/[^/]+)?/i, (name) => name.toLowerCase());
}

/** Returns problems as parts of a sentence. Has foreign text. */
export function describeSourceProblems(problems: readonly ClaimProblem[]): string {
  return problems.map(describeProblem).join('; ');
}

/** Requirements, or those of the API. */
type Loose<Fields> = { [Name in keyof Fields]: Fields[Name] | undefined };

/** Returns the requirements as text, for example `repositoryId 123, ref refs/tags/v*`; empty if there are none. */
export function describeRequirements(required: Loose<SourceRequirements>): string {
  return SOURCE_FIELDS.flatMap((field) =>
    required[field] === undefined ? [] : [`${field} ${required[field]}`],
  ).join(', ');
}
