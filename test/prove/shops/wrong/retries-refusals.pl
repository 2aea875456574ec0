#!/usr/bin/perl
# A job retried every status but 200, and called for minutes with a revoked token until its address was blocked.
use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP;
use Time::HiRes qw(sleep);

my $order = $ARGV[0] // 'order-1';
my $http = HTTP::Tiny->new(timeout => 2, keep_alive => 0);
my $response;
for my $attempt (1 .. 6) {
    $response = $http->post(
        "$ENV{VOUCHERCTL_BASE_URL}/api/v1/open-platform/vouchers/redeem",
        {
            headers => {
                'Authorization'   => "Bearer $ENV{VOUCHERCTL_TOKEN}",
                'Content-Type'    => 'application/json',
                'Idempotency-Key' => "redeem-$order",
            },
            content => encode_json(
                { credential => { type => 'redeem_code', value => $ENV{VOUCHERCTL_CODE} }, reference => $order }
            ),
        }
    );
    my $body = eval { decode_json($response->{content}) };
    if ($response->{status} == 200 && $body && $body->{success}) {
        print "$order: paid\n";
        exit 0;
    }
    sleep(($response->{headers}{'retry-after'} // 0) + 0.3);
}
print STDERR "$order: not paid, status $response->{status}\n";
exit 1;
