import type { Child } from 'hono/jsx';
import { useSite } from '../site.js';
import { FORM_KEY } from './form-key.js';
import { useOperator } from './operator.js';

/** A form that changes something; it includes the key of the session. */
export function ActionForm({
  action,
  children,
  ...rest
}: {
  action: string;
  children?: Child;
  class?: string;
}) {
  const { at } = useSite();
  const { session } = useOperator();
  return (
    <form method="post" action={at(action)} {...rest}>
      <input type="hidden" name={FORM_KEY} value={session.formKey} />
      {children}
    </form>
  );
}
