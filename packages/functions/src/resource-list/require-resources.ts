import { KrmhubError } from '@krmhub/schema/error';
import { type Resource, resourceProblem } from './resource.js';

/** Throws `invalid-document`, in the words of kpt, for all documents that are not Kubernetes resources. */
export function requireResources(resources: readonly Resource[], side: 'input' | 'output'): void {
  const problems = resources.flatMap((resource) => {
    const problem = resourceProblem(resource);
    return problem === undefined ? [] : [`${resource.path}: ${problem}`];
  });
  if (problems.length === 0) return;
  throw new KrmhubError(
    'invalid-document',
    `${side} resource list must contain only KRM resources: ${problems.join('\n  ')}`,
    side === 'input'
      ? { hint: 'To leave files out, list them in .krmignore, or use --skip-unreadable.' }
      : {},
  );
}
