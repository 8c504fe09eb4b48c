import { KrmhubError, type Takedown } from '@krmhub/schema';

/** A name that exists: of a function, of a release, of a catalog, or of a signing policy. */
export type NearName =
  | { group: string; kind: string; release?: string | undefined }
  | { catalog: string }
  | { policy: string };

/**
 * The error for a name that does not exist, or whose release was taken down. Its hint contains the text of each near
 * name; pages link them.
 */
export class MissingName extends KrmhubError {
  readonly near: readonly NearName[];

  constructor(
    message: string,
    { near, ...more }: { hint: string; near: readonly NearName[]; takedowns?: readonly Takedown[] },
  ) {
    super(more.takedowns === undefined ? 'not-found' : 'gone', message, more);
    this.near = near;
  }
}

/** Returns the text of a near name in a hint. A release is named without its function. */
export function nearText(near: NearName): string {
  if ('catalog' in near) return near.catalog;
  if ('policy' in near) return near.policy;
  return near.release ?? `${near.group}/${near.kind}`;
}
