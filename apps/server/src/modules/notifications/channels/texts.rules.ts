import type { Texts } from '#modules/notifications/notifications.types';

type Written = { texts: Texts; link: string | null };

/** Where a link leads for whoever is not in the product: one that begins with a slash leads to a page of it. */
export function absoluteLink(link: string | null, publicUrl: string): string | null {
  return link?.startsWith('/') === true ? `${publicUrl}${link}` : link;
}

/** What an SMS is cut to: two of them where all characters are of the basic set. */
const smsCharacters = 300;
const chatCharacters = 1000;
const subjectCharacters = 200;

/** Title and link, in as few characters as may be. */
export function smsText({ texts, link }: Written): string {
  const end = link === null || link.length > smsCharacters / 2 ? '' : `\n${link}`;
  return `${cut(oneLine(texts.title), smsCharacters - end.length)}${end}`;
}

/** Title, as much of the body as there is room for, and link. */
export function chatText({ texts, link }: Written): string {
  const end = link === null || link.length > chatCharacters / 2 ? '' : `\n\n${link}`;
  const start = cut(oneLine(texts.title), smsCharacters);
  const room = chatCharacters - start.length - end.length - 2;
  const body = cut(plain(texts.body), room);
  return `${start}${body === '' ? '' : `\n\n${body}`}${end}`;
}

type Letter = Written & {
  category: string;
  /** Of the person, as a BCP 47 tag. */
  locale: string;
  tenantName: string;
  /** Where the person changes what they are told. */
  settingsUrl: string;
};

/** A mail that says why it came and how not to get the next one. */
export function mailOf({ texts, link, ...letter }: Letter): { subject: string; text: string } {
  const subject = cut(oneLine(texts.title), subjectCharacters);
  const parts = [oneLine(texts.title), plain(texts.body), link ?? '', `-- \n${footerOf(letter)}`];
  return { subject, text: `${parts.filter((part) => part !== '').join('\n\n')}\n` };
}

type Reasons = Omit<Letter, 'texts' | 'link'>;

const footers: Readonly<Record<string, (tenantName: string, category: string) => string>> = {
  en: (tenant, category) =>
    `You get this mail because you are a member of ${tenant} and are told about ${category} by mail. What you are told about, and how, you change here:`,
  de: (tenant, category) =>
    `Sie erhalten diese E-Mail, weil Sie zu ${tenant} gehören und über ${category} per E-Mail benachrichtigt werden. Worüber und wie Sie benachrichtigt werden, ändern Sie hier:`,
  fr: (tenant, category) =>
    `Vous recevez cet e-mail parce que vous êtes membre de ${tenant} et que vous êtes informé par e-mail au sujet de ${category}. Vous pouvez modifier vos notifications ici :`,
  es: (tenant, category) =>
    `Recibe este correo porque es miembro de ${tenant} y se le informa por correo sobre ${category}. Puede cambiar sus notificaciones aquí:`,
  it: (tenant, category) =>
    `Riceve questa e-mail perché è membro di ${tenant} e viene informato via e-mail su ${category}. Può modificare le sue notifiche qui:`,
};

function footerOf({ category, locale, settingsUrl, tenantName }: Reasons): string {
  const language = locale.split(/[-_]/)[0]!.toLowerCase();
  const footer = (Object.hasOwn(footers, language) ? footers[language] : undefined) ?? footers['en']!;
  return `${footer(oneLine(tenantName), oneLine(category))}\n${settingsUrl}`;
}

/** Without anything that a header, or a line of its own, could be made with. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

/** With no other control characters than line breaks and tabs. */
export function plain(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/(?![\n\t])\p{Cc}/gu, '')
    .trim();
}

const ellipsis = '...';
const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The beginning of a text, which ends between two characters as people see them. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const segments = segmenter.segment(text);
  const end = segments.containing(Math.max(0, most - ellipsis.length))?.index ?? 0;
  return `${text.slice(0, end).trimEnd()}${ellipsis}`;
}
