import { matchesGlob } from '@krmhub/schema';
import { isIssuerOf } from '../access/trusted-publishers/providers.js';
import type { Danger } from './dangers.js';
import type { TrustedSigner } from './signing-policy.js';

type KeylessSigner = Extract<TrustedSigner, { issuer: string }>;

/** The ref of a pull request, whose author chooses what is built. */
const PULL_REQUEST = 'refs/pull/1/merge';

/** Finds keyless signers of CI providers that a valid policy trusts by mistake. */
export function sourceDangers(signer: KeylessSigner): Danger[] {
  const { issuer, subject, subjectPattern, repositoryId, ownerId, ref, environment } = signer;
  const names = subject ?? subjectPattern;
  const dangers: Danger[] = [];
  const isCi = isIssuerOf('github', issuer) || issuer === 'https://gitlab.com';
  if (isCi && repositoryId === undefined && ownerId === undefined) dangers.push(reusableName(signer));
  if (ref !== undefined && matchesGlob(ref, PULL_REQUEST)) {
    const message = `the ref ${ref} also trusts pull requests, for example ${PULL_REQUEST}`;
    dangers.push({ code: 'policy/broad-source', message });
  }
  if (names === undefined && ref === undefined && environment === undefined) {
    const message = 'the signer trusts every workflow of the source on every branch, also of pull requests';
    dangers.push({ code: 'policy/broad-source', message });
  }
  return dangers;
}

/** Host, owner, and repository in the subject of a workflow, or in a pattern of them. */
const SUBJECT = /^\^?https:\/\/(github\\?\.com)\/([\w.\\-]+)\/([\w.\\-]+)\//;
const REPOSITORY = /^https:\/\/(github\.com)\/([\w.-]+)\/([\w.-]+)$/;

/** The names of a signer belong to another owner after they are registered again. */
function reusableName({ issuer, subject, subjectPattern, repository }: KeylessSigner): Danger {
  const message =
    'the signer is trusted by names, which belong to another owner if they are registered again; IDs do not';
  const text = repository ?? subject ?? subjectPattern ?? '';
  const [, host, owner, name] = (repository === undefined ? SUBJECT : REPOSITORY).exec(text) ?? [];
  const plain = (part: string | undefined) => part?.replaceAll('\\', '');
  const path = host === undefined ? undefined : `${plain(owner)}/${plain(name)}`;
  const ids = '`repositoryId: "ID"` and `ownerId: "ID"`';
  if (path === undefined) {
    const where = issuer === 'https://gitlab.com' ? ' of the project and its namespace' : '';
    return { code: 'policy/reusable-name', message, hint: `Add the IDs${where} to the signer: ${ids}.` };
  }
  const hint = `Add ${ids} to the signer. This prints both lines: gh api repos/${path} --jq '"    repositoryId: \\"\\(.id)\\"", "    ownerId: \\"\\(.owner.id)\\""'`;
  return { code: 'policy/reusable-name', message, hint };
}
