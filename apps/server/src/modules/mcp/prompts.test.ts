import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import { toCatalog } from '#modules/mcp/catalog';
import { prompts, type Prompt } from '#modules/mcp/prompts';

const catalog = toCatalog(modules);
const tools = new Set([...catalog.public, ...catalog.authenticated].map(({ name }) => name));

function textOf(prompt: Prompt, values: Record<string, string> = {}): string {
  return prompt
    .toMessages(values)
    .map(({ content }) => content.text)
    .join('\n');
}

const given = (prompt: Prompt, value: string) => Object.fromEntries(prompt.arguments.map(({ name }) => [name, value]));

describe('prompts', () => {
  it('have unique names and unique arguments', () => {
    const names = prompts.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z]+(_[a-z]+)+$/.test(name))).toEqual([]);
    for (const prompt of prompts) {
      const own = prompt.arguments.map(({ name }) => name);
      expect({ prompt: prompt.name, count: new Set(own).size }).toEqual({ prompt: prompt.name, count: own.length });
      expect(prompt.arguments[0]?.required).toBe(true);
    }
  });

  it.each(prompts)('$name names tools that exist, and several of them', (prompt) => {
    // Every word that looks like a tool: a verb and a noun.
    const named = [...textOf(prompt).matchAll(/(?<![\w`])[a-z]+(?:_[a-z]+)+(?![\w`])/g)].map(([name]) => name);
    expect(named.filter((name) => !tools.has(name))).toEqual([]);
    expect(new Set(named).size).toBeGreaterThan(2);
  });

  it.each(prompts)('$name contains each argument as data on one line', (prompt) => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (value) => {
        const lines = textOf(prompt, given(prompt, value)).split('\n');
        for (const { title } of prompt.arguments) expect(lines).toContain(`- ${title}: ${JSON.stringify(value)}`);
        expect(lines).toHaveLength(textOf(prompt, given(prompt, 'x')).split('\n').length);
      }),
    );
  });

  it('leave out missing arguments', () => {
    const booking = prompts.find(({ name }) => name === 'plan_booking')!;
    const text = textOf(booking, { purpose: 'Standup', when: 'tomorrow at 9' });
    expect(text).toContain('- Purpose: "Standup"\n- When: "tomorrow at 9"\n\n1. ');
    expect(text).not.toContain('Who:');
  });

  it('require a confirmation before a change', () => {
    for (const prompt of prompts) expect(textOf(prompt)).toContain('wait for my confirmation');
  });
});
