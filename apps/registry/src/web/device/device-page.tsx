/**
 * The page on which a signed-in user allows `krmhub login` on a device to get a token.
 *
 * @module
 */

import type { TokenScope } from '@krmhub/api/token-scopes';
import type { LoginRequestRecord } from '../../store/login-store.js';
import { DEVICE_LOGIN } from '../addresses.js';
import { ActionForm } from '../operate/action-form.js';
import { Field } from '../operate/field.js';
import { useOperator } from '../operate/operator.js';
import { Banner } from '../parts/banner.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';

/** Asks for the code that the device shows. */
export function EnterCodePage({ children }: { children?: unknown }) {
  const { at } = useSite();
  return (
    <div class="sign-in">
      <h1>Sign in a device</h1>
      {children}
      <form method="get" action={at(DEVICE_LOGIN)}>
        <Field
          field="code"
          label="Code"
          required
          maxlength={20}
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
        >
          <code>krmhub login</code> shows it, for example W3KD-8XQ2.
        </Field>
        <button type="submit">Continue</button>
      </form>
    </div>
  );
}

/** Says that no device waits with the code. */
export function NoLoginPage() {
  return (
    <EnterCodePage>
      <Banner tone="warning" title="No device waits with this code">
        <p>
          The code is mistyped, older than ten minutes, or was answered before. Nothing was allowed now. Run{' '}
          <code>krmhub login</code> again for a new code.
        </p>
      </Banner>
    </EnterCodePage>
  );
}

export interface LoginRequestPageProps {
  request: LoginRequestRecord;
  /** Address of the browser. */
  address: string;
  /** Lifetimes to choose from. */
  days: readonly number[];
  usualDays: number;
  /** Scopes over the whole registry that the user has. */
  wide: readonly TokenScope[];
  /** Why the user cannot allow it. */
  problem: string | undefined;
}

/** Shows what a device says, and asks whether it may sign in. */
export function LoginRequestPage({ request, address, ...rights }: LoginRequestPageProps) {
  const { code, client, createdAt } = request;
  return (
    <>
      <h1>Sign in a device?</h1>
      <p>
        Does <code>krmhub login</code> on your device show this code?
      </p>
      <p class="login-code">{code}</p>
      <DefinitionList
        items={[
          [
            'It says that it is',
            <>
              <Text value={client} max={100} /> <span class="quiet">(not verified)</span>
            </>,
          ],
          [
            'Its address',
            <>
              <code>{request.address}</code>{' '}
              <span class="quiet">
                {request.address === address ? (
                  '(the same as that of your browser)'
                ) : (
                  <>
                    (your browser has <code>{address}</code>)
                  </>
                )}
              </span>
            </>,
          ],
          ['It asked', <Time at={createdAt} />],
        ]}
      />
      <Banner tone="warning" title="Did another person send you this code or link?">
        <p>Then deny it: they would act in your name. Allow only what you started yourself, a moment ago.</p>
      </Banner>
      <AnswerForms code={code} {...rights} />
    </>
  );
}

function AnswerForms({
  code,
  days,
  usualDays,
  wide,
  problem,
}: { code: string } & Omit<LoginRequestPageProps, 'request' | 'address'>) {
  const { token } = useOperator();
  const deny = (
    <ActionForm action={DEVICE_LOGIN}>
      <input type="hidden" name="code" value={code} />
      <button class="button-plain" type="submit" name="answer" value="deny">
        Deny
      </button>
    </ActionForm>
  );
  if (problem !== undefined) {
    return (
      <>
        <Banner tone="danger" title="You cannot allow it">
          <p>
            <Text value={sentence(problem)} max={300} /> On the device, use the token itself:{' '}
            <code class="unbroken">krmhub login --token-stdin</code>
          </p>
        </Banner>
        {deny}
      </>
    );
  }
  return (
    <>
      <ActionForm action={DEVICE_LOGIN} class="form">
        <input type="hidden" name="code" value={code} />
        <p class="entry">
          <label for="days">It stays signed in for</label>
          <select id="days" name="days">
            {days.map((count) => (
              <option value={String(count)} selected={count === usualDays}>
                {count === 1 ? '1 day' : `${count} days`}
              </option>
            ))}
          </select>
        </p>
        {wide.length === 0 ? null : (
          <label class="choice">
            <input type="checkbox" name="wide" value="on" />
            <span>
              <b>Administration too</b>{' '}
              <span class="quiet">
                It also gets the {wide.length === 1 ? 'scope' : 'scopes'} {wide.join(' and ')}.
              </span>
            </span>
          </label>
        )}
        <p class="quiet">
          {token.user === undefined
            ? 'The device gets a token with the rights of yours.'
            : 'The device gets a token with your rights, as they are whenever it is used.'}{' '}
          You can revoke it at any time.
        </p>
        <button type="submit" name="answer" value="allow">
          Allow it
        </button>
      </ActionForm>
      {deny}
    </>
  );
}

/** Says what was answered. */
export function AnsweredPage({ isAllowed }: { isAllowed: boolean }) {
  return (
    <>
      <h1>{isAllowed ? 'Go back to your device' : 'The device is not signed in'}</h1>
      <p>
        {isAllowed
          ? 'You allowed it to sign in. It continues in some seconds, and you can close this page.'
          : 'You denied it. If you did not start it, another person tried to sign in with your account: tell your administrator.'}
      </p>
    </>
  );
}
