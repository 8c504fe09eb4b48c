import { createRoute, z } from '@hono/zod-openapi';
import { callerOf } from '../../http/auth/caller.js';
import { tokenDays } from '../../http/auth/issue-token.js';
import type { RegistryContext } from '../../http/context.js';
import {
  allowLogin,
  type DeviceLoginDeps,
  loginProblem,
  loginScopes,
  readCode,
  waitingLogin,
} from '../../sign-in/device-login.js';
import type { LoginRequestRecord } from '../../store/login-store.js';
import { DEVICE_LOGIN } from '../addresses.js';
import type { Operator } from '../operate/operator.js';
import type { OperatorPages } from '../operate/operator-pages.js';
import type { PrivatePage } from '../operate/private-response.js';
import type { Site } from '../site.js';
import { AnsweredPage, EnterCodePage, LoginRequestPage, NoLoginPage } from './device-page.js';

const Code = z.string().max(20, 'is longer than 20 characters');

export const DEVICE_ROUTES = {
  deviceLoginPage: createRoute({
    method: 'get',
    path: DEVICE_LOGIN,
    request: {
      query: z.object({
        code: Code.optional(),
        answered: z.enum(['allowed', 'denied'], 'is not an answer').optional(),
      }),
    },
    responses: { 200: { description: 'Asks whether a program may sign in' } },
  }),
  answerDeviceLogin: createRoute({
    method: 'post',
    path: DEVICE_LOGIN,
    responses: { 303: { description: 'Answered' } },
  }),
} as const;

const AnswerForm = z.object({
  code: Code,
  answer: z.enum(['allow', 'deny'], 'is missing'),
  days: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, 'is not a number of days')
    .optional(),
  wide: z.literal('on', 'is not on').optional(),
});

/** Lifetimes that the page offers. */
const DAYS = [1, 7, 30, 90, 365];

export type DevicePageDeps = DeviceLoginDeps & { site: Site };

/** The page on which a user allows a program to sign in. Only its form does so. */
export function deviceRoutes(deps: DevicePageDeps, pages: OperatorPages): void {
  const { site } = deps;
  const shown = (body: PrivatePage['body'], status: PrivatePage['status'] = 200): PrivatePage => ({
    head: { title: 'Sign in a device', path: DEVICE_LOGIN },
    body,
    status,
  });

  /** Codes that nobody waits with count as failed logins of who types them, so that none is guessed. */
  const findLogin = async (
    c: RegistryContext,
    typed: string,
    { token: { id, user } }: Operator,
  ): Promise<LoginRequestRecord | undefined> => {
    const code = readCode(typed);
    if (code === undefined) return undefined;
    return c.get('limits').guess(c, { codeTypedBy: user?.id ?? id }, () => waitingLogin(deps, code));
  };

  pages.page(DEVICE_ROUTES.deviceLoginPage, {}, async (c, { query: { code, answered } }, operator) => {
    if (answered !== undefined) return shown(<AnsweredPage isAllowed={answered === 'allowed'} />);
    if (code === undefined) return shown(<EnterCodePage />);
    const request = await findLogin(c, code, operator);
    if (request === undefined) return shown(<NoLoginPage />, 404);
    const { max, usual } = tokenDays(deps);
    const { token } = operator;
    return shown(
      <LoginRequestPage
        request={request}
        address={c.get('client')}
        days={[...new Set([...DAYS.filter((days) => days < max), usual, ...(max <= 365 ? [max] : [])])].sort(
          (a, b) => a - b,
        )}
        usualDays={usual}
        wide={loginScopes(deps, token).wide}
        problem={loginProblem(deps, token)}
      />,
    );
  });

  pages.action(DEVICE_ROUTES.answerDeviceLogin, { form: AnswerForm }, async (c, { form }, operator) => {
    const request = await findLogin(c, form.code, operator);
    if (request === undefined) return shown(<NoLoginPage />, 409);
    const isAllowed = form.answer === 'allow';
    const { code } = request;
    const act = { at: deps.clock().toISOString(), ...callerOf(c, operator.token) };
    const isDone = isAllowed
      ? await allowLogin(
          deps,
          { code, days: Number(form.days ?? tokenDays(deps).usual), isWide: form.wide !== undefined },
          { token: operator.token, tokenHash: sessionTokenHash(operator), signIn: c.get('signIn') },
          act,
        )
      : await deps.store.answerLogin(code, 'denied', act);
    // Another session was faster.
    if (!isDone) return shown(<NoLoginPage />, 409);
    return c.redirect(site.at(`${DEVICE_LOGIN}?answered=${isAllowed ? 'allowed' : 'denied'}`), 303);
  });
}

function sessionTokenHash({ session: { of } }: Operator): string | undefined {
  return 'tokenHash' in of ? of.tokenHash : undefined;
}
