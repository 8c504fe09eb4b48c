import { provider, type WorkflowRun } from '@krmhub/catalog';
import { Text } from './text.js';

/** Characters of a commit. */
const COMMIT_LENGTH = 12;

/** The workflow that published a release, with its run and the commit that it ran on. */
export function WorkflowLine({ run }: { run: WorkflowRun }) {
  const { provider: name, issuer, workflow, url, commit } = run;
  const text = <Text value={workflow} max={80} />;
  return (
    <>
      {url === undefined ? (
        text
      ) : (
        <a href={url} rel="nofollow">
          {text}
        </a>
      )}
      {commit === undefined ? null : (
        <>
          {' '}
          at <code>{commit.slice(0, COMMIT_LENGTH)}</code>
        </>
      )}
      , {provider(name).title}
      {issuer === undefined ? null : (
        <>
          , <Text value={issuer} max={80} />
        </>
      )}
    </>
  );
}
