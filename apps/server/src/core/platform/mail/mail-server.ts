import nodemailer from 'nodemailer';

/**
 * Greets the mail server of SMTP_URL, and logs in where the URL says as whom; nothing is sent.
 * @throws Error where no mail server answers in time, or where it refuses.
 */
export async function greetMailServer(smtpUrl: string, timeoutMs = 1000): Promise<void> {
  const timeouts = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs };
  const transport = nodemailer.createTransport({ url: smtpUrl, ...timeouts });
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}
