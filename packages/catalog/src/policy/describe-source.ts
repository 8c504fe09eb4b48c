import type { SourceIdentity } from '@krmhub/schema';

/** Characters of a commit. */
const COMMIT_LENGTH = 7;

/**
 * Returns where a build came from in one line, for example "built from github.com/example/functions at 1a2b3c4 by
 * release.yml on the tag v1.0.0". Undefined if the certificate names no repository. Has foreign text.
 */
export function describeSource(source: SourceIdentity | undefined): string | undefined {
  const {
    sourceRepositoryURI: repository,
    sourceRepositoryDigest: commit,
    sourceRepositoryRef: ref,
  } = source ?? {};
  if (source === undefined || repository === undefined) return undefined;
  const workflow = describeWorkflowFile(source, repository);
  return [
    `built from ${withoutScheme(repository)}`,
    ...(commit === undefined ? [] : [`at ${commit.slice(0, COMMIT_LENGTH)}`]),
    ...(workflow === undefined ? [] : [`by ${workflow}`]),
    ...(ref === undefined ? [] : [describeRef(ref)]),
  ].join(' ');
}

/**
 * Returns a URI of a workflow without its ref, which is that of the source, starts with `refs/`, or is a commit. Files
 * can contain `@`, too.
 */
export function workflowFile(uri: string, ref: string | undefined): string {
  if (ref !== undefined && uri.endsWith(`@${ref}`)) return uri.slice(0, -ref.length - 1);
  return uri.replace(/@(?:refs\/.*|[0-9a-f]{40}|[0-9a-f]{64})$/s, '');
}

/** The name of the file, with its repository if it is another one. */
function describeWorkflowFile(source: SourceIdentity, repository: string): string | undefined {
  const uri = source.buildConfigURI ?? source.buildSignerURI;
  if (uri === undefined) return undefined;
  const file = workflowFile(uri, source.sourceRepositoryRef);
  // GitLab separates the file with two slashes.
  return file.startsWith(`${repository}/`) ? file.split('/').at(-1) : withoutScheme(file);
}

function describeRef(ref: string): string {
  const [, kind, name] = /^refs\/(heads|tags)\/(.+)$/s.exec(ref) ?? [];
  if (kind === undefined) return `on ${ref}`;
  return `on the ${kind === 'tags' ? 'tag' : 'branch'} ${name}`;
}

function withoutScheme(uri: string): string {
  return uri.replace(/^https:\/\//, '');
}
