import { policyPath } from '../addresses.js';
import { useSite } from '../site.js';

/** Leads to the policy behind a verdict. */
export function PolicyLink({ name }: { name: string | undefined }) {
  const { at } = useSite();
  if (name === undefined) return null;
  return (
    <>
      {' '}
      <a href={at(policyPath(name))}>policy {name}</a>
    </>
  );
}
