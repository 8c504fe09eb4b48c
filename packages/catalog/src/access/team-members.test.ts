import { expect, it } from 'vitest';
import { userLabel } from './team-members.js';

it('names a user by what no provider can give to anybody else', () => {
  const label = (name: string, subject: string, issuer: string) => userLabel({ name, subject, issuer });
  const alice = label('Alice', '00u1', 'https://sso.example.com');
  expect(alice).toBe('Alice (00u1 at sso.example.com)');
  const other = 'https://guests.example.com';
  expect(label('Alice (00u1 at sso.example.com)', 'x', other)).toBe(
    'Alice 00u1 at sso.example.com (x at guests.example.com)',
  );
  const subjects = ['00u1 at sso.example.com) (x', '00u1 at sso.example.com', '(', '%28', '%', 'x)'];
  const labels = subjects.map((subject) => label('Alice', subject, other));
  for (const one of labels) expect(one).toMatch(/^Alice \([^()]* at guests\.example\.com\)$/);
  expect(new Set(labels).size).toBe(subjects.length);
});
