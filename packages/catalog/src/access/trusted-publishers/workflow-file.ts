/** `OWNER/REPOSITORY/.github/workflows/FILE@REF`, read from the left: files and refs can contain `@`. */
const GITHUB_WORKFLOW = /^([^/@]+\/[^/@]+)\/\.github\/workflows\/([^/]+?\.ya?ml)@(?:refs\/|[0-9a-f]{40}$)/;

/** Returns the file of a workflow of the repository itself: rules of an organization can start those of others. */
export function githubWorkflow(value: string, repository: unknown): string | undefined {
  const [, owner, file] = GITHUB_WORKFLOW.exec(value) ?? [];
  return typeof repository === 'string' && owner?.toLowerCase() === repository.toLowerCase()
    ? file
    : undefined;
}

/** `HOST/GROUP/PROJECT//FILE@REF`. The file begins after the first `//`: trying others would take quadratic time. */
const GITLAB_FILE = /^((?:(?!\/\/)[^@])*)\/\/(.+?\.ya?ml)@refs\//;

/**
 * Returns the file of a pipeline of the project itself: that of another project can have the same name. The host has the
 * port and the path of the issuer.
 */
export function gitlabFile(value: string, issuer: unknown, project: unknown): string | undefined {
  const [, place = '', file] = GITLAB_FILE.exec(value) ?? [];
  if (typeof issuer !== 'string' || typeof project !== 'string') return undefined;
  const own = `${issuer.replace(/^https:\/\//, '').replace(/\/$/, '')}/${project}`;
  return place.toLowerCase() === own.toLowerCase() ? file : undefined;
}
