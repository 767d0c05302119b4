import type { Module } from '#core/http/route';

export type ErrorForm = { hasBriefErrors: boolean; hasRpcErrors: boolean };

const standard: ErrorForm = { hasBriefErrors: false, hasRpcErrors: false };

/** The form in which the path of a URL answers failures, for requests that are refused before they are routed. */
export function errorFormsOf(modules: readonly Module[]): (url: string) => ErrorForm {
  const special = modules
    .flatMap(({ routes }) => routes)
    .filter(({ hasBriefErrors, hasRpcErrors }) => hasBriefErrors || hasRpcErrors)
    .map(({ path, hasBriefErrors, hasRpcErrors }) => ({ pattern: patternOf(path), hasBriefErrors, hasRpcErrors }));
  return (url) => special.find(({ pattern }) => pattern.test(url)) ?? standard;
}

/** Read as it was sent, because a parameter that cannot be decoded is one reason why a request is not routed. */
function patternOf(path: string): RegExp {
  const steps = path.split('/').map((step) => (step.startsWith('{') ? '[^/?#]+' : RegExp.escape(step)));
  return new RegExp(`^${steps.join('/')}/?(?:[?#]|$)`);
}
