import type { LogConfig, LogLevel } from '#core/data/log/log-config';
import { escapeCharacter, toJson } from '#core/data/log/log-line';

type Line = { level: LogLevel; time?: string; service?: string; msg?: string } & Record<string, unknown>;

const colors: Record<LogLevel, number> = { trace: 90, debug: 36, info: 32, warn: 33, error: 31, fatal: 35 };

/** How lines of JSON become what is printed; undefined where they are printed as they are. */
export function consoleFormatter(config: LogConfig): ((line: string) => string) | undefined {
  const { console: output, formatting } = config;
  const shown = {
    time: output.timestamp && formatting.includeTimestamp,
    service: formatting.includeService,
    context: formatting.includeContext,
  };
  if (output.format === 'json') {
    if (shown.time && shown.service && shown.context) return undefined;
    return (line) => `${toJson(partsOf(line, shown).all)}\n`;
  }
  const paint = output.colorize ? colored : (_level: LogLevel, text: string) => text;
  const isCompact = output.format === 'compact';
  return (line) => {
    const { time, level, service, msg, context } = partsOf(line, shown);
    const head = [time, paint(level, level.toUpperCase().padEnd(5)), service, oneLine(msg ?? '')];
    const rest = Object.entries(context).map(([name, value]) => oneLine(`${name}=${JSON.stringify(value)}`));
    const lines = isCompact ? [[...head, ...rest]] : [head, ...rest.map((field) => [`    ${field}`])];
    return lines.map((words) => `${words.filter((word) => word !== undefined).join(' ')}\n`).join('');
  };
}

function partsOf(line: string, shown: { time: boolean; service: boolean; context: boolean }) {
  const { level, time, service, msg, ...rest } = JSON.parse(line) as Line;
  const parts = {
    level,
    time: shown.time ? time : undefined,
    service: shown.service ? service : undefined,
    msg,
    context: shown.context ? rest : {},
  };
  const { context, ...head } = parts;
  return { ...parts, all: { ...head, ...context } };
}

/** A line break or an escape sequence in what is logged would forge lines of its own, or repaint the terminal. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, escapeCharacter);
}

function colored(level: LogLevel, text: string): string {
  return `\u001b[${colors[level]}m${text}\u001b[0m`;
}
